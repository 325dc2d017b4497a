// Checks of a single program that need no other rank's: everything a reader of programs may rely
// on.
#pragma once

#include "base/status.hpp"
#include "schedule/step.hpp"

namespace gyre {

// Ranks, chunks, loops, rounds and strands are in range; every step has an operand, a
// destination and a chunk that says how long its value is, and means no rank or chunk twice; a
// receive range that covers the own rank does not wrap around (so that range order is rank order);
// no two strands share a lane end. Takes time linear in the steps of one tile.
Result<void> check_well_formed(const Program& program);

}  // namespace gyre
