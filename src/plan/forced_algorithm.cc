#include "plan/forced_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <optional>
#include <string>
#include <vector>

#include "base/parse_value.hpp"
#include "plan/candidates.hpp"

namespace gyre {
namespace {

Error refuse(std::string text) { return {Status::invalid_usage, "GYRE_ALGO: " + std::move(text)}; }

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

Result<CallKind> read_collective(std::string_view word) {
  const Result<CallKind> kind = find_planned(word);
  return kind ? kind : refuse(kind.error().text);
}

Result<Algorithm> read_algorithm(std::string_view word) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (plain_name(name_of(algorithm)) == plain_name(word)) return algorithm;
    names.push_back(name_of(algorithm));
  }
  return refuse(fmt::format("\"{}\" is no algorithm; known are {}", word, fmt::join(names, ", ")));
}

// The names of a collective's algorithms that `fit`.
template <typename Fit>
std::string names_of(CollectiveKind kind, const Fit& fit) {
  std::vector<std::string_view> names;
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.kind == kind && fit(entry)) names.push_back(entry.algorithm);
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

// What GYRE_ALGO says of a collective.
struct Wish {
  Algorithm algorithm = Algorithm::ring;
  std::uint64_t slice_bytes = 0;
};

Result<Wish> read_wish(std::string_view entry) {
  Wish wish;
  std::string_view slice = entry;
  GYRE_TRY_ASSIGN(wish.algorithm, read_algorithm(take(slice, '@')));
  if (entry.find('@') == std::string_view::npos) return wish;
  const auto bytes = parse_bytes(slice);
  if (!bytes || *bytes < 1 || !std::has_single_bit(static_cast<std::uint64_t>(*bytes))) {
    return refuse(fmt::format("\"{}\" is no slice; it is a power of two, such as 16K", slice));
  }
  wish.slice_bytes = static_cast<std::uint64_t>(*bytes);
  return wish;
}

Result<void> check_wish(const CatalogueEntry& entry, const Wish& wish, const PlanFacts& facts) {
  if (const auto fits = check_fits(entry, facts, wish.slice_bytes); !fits) {
    return refuse(fits.error().text);
  }
  if (facts.reproducible && is_reduction(entry.kind) && !entry.fixed_order) {
    return refuse(fmt::format(
        "{} {} does not fold in rank order, as GYRE_REPRODUCIBLE=1 asks for; take {}, or unset one",
        entry.algorithm, name_of(entry.kind),
        names_of(entry.kind, [](const CatalogueEntry& one) { return one.fixed_order; })));
  }
  return {};
}

Result<void> force(std::optional<CallKind> only, const Wish& wish, PlanFacts& facts) {
  bool any = false;
  for (const CallKind kind : kPlannedKinds) {
    if (only && *only != kind) continue;
    const CatalogueEntry* entry = schedule_of(kind, wish.algorithm);
    if (entry == nullptr) continue;
    GYRE_TRY(check_wish(*entry, wish, facts));
    facts.forced[index_of(kind)] = {wish.algorithm, entry, wish.slice_bytes};
    any = true;
  }
  if (any || !only) return {};
  const CollectiveKind kind = *collective_of(*only);
  return refuse(fmt::format("{} has no algorithm {}; it has {}", name_of(kind),
                            name_of(wish.algorithm),
                            names_of(kind, [](const CatalogueEntry&) { return true; })));
}

}  // namespace

Result<void> force_algorithms(std::string_view text, PlanFacts& facts) {
  while (!text.empty()) {
    std::string_view entry = take(text, ';');
    std::optional<CallKind> only;
    if (entry.find(':') != std::string_view::npos) {
      GYRE_TRY_ASSIGN(only, read_collective(take(entry, ':')));
    }
    GYRE_TRY_ASSIGN(const Wish wish, read_wish(entry));
    GYRE_TRY(force(only, wish, facts));
  }
  return {};
}

}  // namespace gyre
