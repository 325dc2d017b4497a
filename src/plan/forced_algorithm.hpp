// GYRE_ALGO: the schedules to use, by the catalogue's names.
#pragma once

#include <string_view>

#include "base/status.hpp"
#include "plan/planner.hpp"

namespace gyre {

// Reads "[collective:]algorithm[@slice];...": for each collective (all that have it without a name;
// later entries win) the algorithm that runs it and, if given, the longest slice it is cut into (a
// power of two, such as 16K), into facts.forced. The other facts are known already.
// invalid_usage: an unknown name, a collective that does not have the algorithm, one that this
// world is too large for, one without a fixed order of the fold in reproducible mode, or a slice
// that cannot be.
Result<void> force_algorithms(std::string_view text, PlanFacts& facts);

}  // namespace gyre
