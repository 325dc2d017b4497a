// The parameter server: every rank sends everything to rank 0, which folds once and sends the
// result back. The naive baseline: fewest messages, and all bytes through one rank.
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::star {

// One chunk in and out. Folds in rank order, in one place.
Program all_reduce(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::star
