#include "plan/candidates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace gyre {
namespace {

// The least part of a slot that a chunk takes: slices are whole cache lines.
constexpr std::uint64_t kLine = 64;
// Shorter slices let a message flow through more hops at once; more of them cost more steps.
constexpr std::uint64_t kSliceRatio = 4;
constexpr int kSliceLengths = 3;
constexpr std::uint64_t kLeastSlice = 4 << 10;

std::uint64_t longest_run(const CatalogueEntry& entry, const PlanFacts& facts) {
  return entry.longest_run(static_cast<std::uint32_t>(facts.world),
                           static_cast<std::uint32_t>(facts.ranks_per_host));
}

// A schedule for hosts is another one's equal where there is one host, or one rank on each.
bool is_pointless(const CatalogueEntry& entry, const PlanFacts& facts) {
  return entry.hosts && (facts.ranks_per_host == 1 || facts.ranks_per_host == facts.world);
}

std::vector<const CatalogueEntry*> schedules(CallKind kind, bool fixed_order, AlgorithmSet allowed,
                                             const PlanFacts& facts) {
  std::vector<const CatalogueEntry*> found;
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const CatalogueEntry* entry = schedule_of(kind, algorithm);
    if (entry == nullptr || (allowed & bit_of(algorithm)) == 0) continue;
    if (reduces(kind) && fixed_order && !entry->fixed_order) continue;
    if (!is_pointless(*entry, facts) && check_fits(*entry, facts, 0)) found.push_back(entry);
  }
  return found;
}

Algorithm algorithm_of(const CatalogueEntry& entry) {
  int i = 0;
  while (name_of(static_cast<Algorithm>(i)) != entry.algorithm) ++i;
  return static_cast<Algorithm>(i);
}

}  // namespace

Result<void> check_fits(const CatalogueEntry& entry, const PlanFacts& facts,
                        std::uint64_t slice_bytes) {
  const auto refuse = [](std::string text) {
    return Error{Status::invalid_usage, std::move(text)};
  };
  const auto what = [&] { return fmt::format("{} {}", entry.algorithm, name_of(entry.kind)); };
  const auto world = static_cast<std::uint32_t>(facts.world);
  if (world > entry.max_world) {
    return refuse(
        fmt::format("{} is for at most {} ranks, not {}", what(), entry.max_world, world));
  }
  const std::uint64_t run = longest_run(entry, facts);
  if (run * kLine > facts.slot_bytes) {
    return refuse(
        fmt::format("{} of {} ranks sends {} chunks in one slot, which needs {} bytes; "
                    "GYRE_SLOT_BYTES is {}",
                    what(), world, run, run * kLine, facts.slot_bytes));
  }
  if (slice_bytes != 0 && run * kLine > slice_bytes) {
    return refuse(fmt::format("{} of {} ranks needs slices of at least {} bytes, not {}", what(),
                              world, run * kLine, slice_bytes));
  }
  return {};
}

std::uint64_t slice_of(const Choice& choice, const PlanFacts& facts) {
  return choice.slice_bytes == 0 ? facts.slot_bytes
                                 : std::min(choice.slice_bytes, facts.slot_bytes);
}

std::vector<Candidate> candidates_for(CallKind kind, bool fixed_order, const PlanFacts& facts) {
  auto entries = schedules(kind, fixed_order, facts.allowed[index_of(kind)], facts);
  if (entries.empty()) entries = schedules(kind, fixed_order, kAllAlgorithms, facts);
  std::vector<Candidate> candidates;
  for (const CatalogueEntry* entry : entries) {
    const Algorithm algorithm = algorithm_of(*entry);
    candidates.push_back({{algorithm, 0}, entry});
    std::uint64_t slice = std::bit_floor(facts.slot_bytes);
    for (int length = 1; length < kSliceLengths; ++length) {
      slice /= kSliceRatio;
      if (slice < kLeastSlice || slice < longest_run(*entry, facts) * kLine) break;
      candidates.push_back({{algorithm, slice}, entry});
    }
  }
  return candidates;
}

bool allows_size(const Candidate& candidate, std::uint64_t bytes, const PlanFacts& facts) {
  return candidate.choice.algorithm != Algorithm::one_shot || bytes <= facts.one_shot_bytes;
}

}  // namespace gyre
