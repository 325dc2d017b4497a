// The schedules that could run a collective on a communicator.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "plan/planner.hpp"

namespace gyre {

struct Candidate {
  Choice choice;
  const CatalogueEntry* schedule = nullptr;
};

// Whether the schedule can run on this communicator in slices of at most `slice_bytes` (0: as long
// as slots); the error's text says why not ("star all_reduce is for at most ...").
Result<void> check_fits(const CatalogueEntry& entry, const PlanFacts& facts,
                        std::uint64_t slice_bytes);

// The longest slice of a choice in bytes.
std::uint64_t slice_of(const Choice& choice, const PlanFacts& facts);

// In the catalogue's order, each with several lengths of slices, longest first: those that fit and
// that the settings allow. Where these allow none of fixed order and one is needed, they are
// passed over. Never empty.
std::vector<Candidate> candidates_for(CallKind kind, bool fixed_order, const PlanFacts& facts);

// Whether messages of this size may use it (GYRE_ONE_SHOT_BYTES).
bool allows_size(const Candidate& candidate, std::uint64_t bytes, const PlanFacts& facts);

}  // namespace gyre
