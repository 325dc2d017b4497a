#include "plan/forced_algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "base/parse_value.hpp"

namespace gyre {
namespace {

// The least part of a slot that a chunk takes: slices are whole cache lines.
constexpr std::uint64_t kLine = 64;

Error refuse(std::string text) { return {Status::invalid_usage, "GYRE_ALGO: " + std::move(text)}; }

std::string_view take(std::string_view& text, char separator) {
  const std::size_t end = std::min(text.find(separator), text.size());
  const std::string_view front = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return front;
}

// "AllReduce" and "all_reduce" are one name.
std::string plain(std::string_view name) {
  std::string text = lower_case(name);
  std::erase(text, '_');
  return text;
}

std::vector<CallKind> collectives() {
  std::vector<CallKind> kinds;
  for (std::size_t i = 0; i < kCallKinds; ++i) {
    const auto kind = static_cast<CallKind>(i);
    if (collective_of(kind)) kinds.push_back(kind);
  }
  return kinds;
}

Result<CallKind> read_collective(std::string_view word) {
  std::vector<std::string_view> names;
  for (const CallKind kind : collectives()) {
    const std::string_view name = name_of(*collective_of(kind));
    if (plain(name) == plain(word)) return kind;
    names.push_back(name);
  }
  return refuse(fmt::format("\"{}\" is no collective with a choice; known are {}", word,
                            fmt::join(names, ", ")));
}

Result<Algorithm> read_algorithm(std::string_view word) {
  std::vector<std::string_view> names;
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (plain(name_of(algorithm)) == plain(word)) return algorithm;
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

Result<void> check_fits(const CatalogueEntry& entry, const PlanFacts& facts) {
  const auto what = [&] { return fmt::format("{} {}", entry.algorithm, name_of(entry.kind)); };
  const auto world = static_cast<std::uint32_t>(facts.world);
  if (world > entry.max_world) {
    return refuse(
        fmt::format("{} is for at most {} ranks, not {}", what(), entry.max_world, world));
  }
  const std::uint64_t run =
      entry.longest_run(world, static_cast<std::uint32_t>(facts.ranks_per_host));
  if (run * kLine > facts.slot_bytes) {
    return refuse(
        fmt::format("{} of {} ranks sends {} chunks in one slot, which needs {} bytes; "
                    "GYRE_SLOT_BYTES is {}",
                    what(), world, run, run * kLine, facts.slot_bytes));
  }
  if (facts.reproducible && is_reduction(entry.kind) && !entry.fixed_order) {
    return refuse(fmt::format(
        "{} does not fold in rank order, as GYRE_REPRODUCIBLE=1 asks for; take {}, or unset one",
        what(), names_of(entry.kind, [](const CatalogueEntry& one) { return one.fixed_order; })));
  }
  return {};
}

Result<void> force(std::optional<CallKind> only, Algorithm algorithm, PlanFacts& facts) {
  bool any = false;
  for (const CallKind kind : collectives()) {
    if (only && *only != kind) continue;
    const CatalogueEntry* entry = find_schedule(name_of(algorithm), *collective_of(kind));
    if (entry == nullptr) continue;
    GYRE_TRY(check_fits(*entry, facts));
    facts.forced[static_cast<std::size_t>(kind)] = {algorithm, entry};
    any = true;
  }
  if (any || !only) return {};
  const CollectiveKind kind = *collective_of(*only);
  return refuse(fmt::format("{} has no algorithm {}; it has {}", name_of(kind), name_of(algorithm),
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
    GYRE_TRY_ASSIGN(const Algorithm algorithm, read_algorithm(entry));
    GYRE_TRY(force(only, algorithm, facts));
  }
  return {};
}

}  // namespace gyre
