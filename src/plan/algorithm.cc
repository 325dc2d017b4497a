#include "plan/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/parse_value.hpp"

namespace gyre {

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[kAlgorithms] = {"ring",
                                                    "one_shot",
                                                    "two_shot",
                                                    "direct",
                                                    "pairwise",
                                                    "star",
                                                    "two_rings",
                                                    "tree",
                                                    "double_tree",
                                                    "halving_doubling",
                                                    "recursive_doubling",
                                                    "bruck",
                                                    "binomial",
                                                    "hierarchical",
                                                    "hierarchical_tree"};
  return kNames[static_cast<int>(algorithm)];
}

std::string plain_name(std::string_view name) {
  std::string text = lower_case(name);
  std::erase(text, '_');
  return text;
}

std::optional<CollectiveKind> collective_of(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
      return CollectiveKind::all_reduce;
    case CallKind::reduce:
      return CollectiveKind::reduce;
    case CallKind::broadcast:
      return CollectiveKind::broadcast;
    case CallKind::all_gather:
      return CollectiveKind::all_gather;
    case CallKind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case CallKind::all_to_all:
      return CollectiveKind::all_to_all;
    case CallKind::gather:
      return CollectiveKind::gather;
    case CallKind::scatter:
      return CollectiveKind::scatter;
    default:
      return std::nullopt;
  }
}

Result<CallKind> find_planned(std::string_view word) {
  std::vector<std::string_view> names;
  for (const CallKind kind : kPlannedKinds) {
    const std::string_view name = name_of(*collective_of(kind));
    if (plain_name(name) == plain_name(word)) return kind;
    names.push_back(name);
  }
  return Error{Status::invalid_usage,
               fmt::format("\"{}\" is no collective with a choice; known are {}", word,
                           fmt::join(names, ", "))};
}

const CatalogueEntry* schedule_of(CallKind kind, Algorithm algorithm) {
  // Calls look here: the catalogue is searched by name once.
  using Row = std::array<const CatalogueEntry*, kAlgorithms>;
  static const auto table = [] {
    std::array<Row, kCallKinds> rows{};
    for (const CallKind planned : kPlannedKinds) {
      for (std::size_t i = 0; i < kAlgorithms; ++i) {
        rows[index_of(planned)][i] =
            find_schedule(name_of(static_cast<Algorithm>(i)), *collective_of(planned));
      }
    }
    return rows;
  }();
  return table[index_of(kind)][static_cast<std::size_t>(algorithm)];
}

std::uint64_t message_bytes(CallKind kind, std::uint64_t bytes_of_count, std::uint32_t world) {
  switch (kind) {
    case CallKind::all_gather:
    case CallKind::reduce_scatter:
    case CallKind::all_to_all:
    case CallKind::gather:
    case CallKind::scatter:
      return bytes_of_count * world;
    default:
      return bytes_of_count;
  }
}

}  // namespace gyre
