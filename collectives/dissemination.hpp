// Dissemination: in round k every rank sends to the one 2^k ahead and waits for the one 2^k behind.
// After ceil(log2 n) rounds each has heard of all (D. Hensgen, R. Finkel, U. Manber: Two algorithms
// for barrier synchronization, 1988).
#pragma once

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre::dissemination {

// Messages mean nothing but that they came: one chunk in and out, of no elements when run.
Program barrier(std::uint32_t rank, std::uint32_t world);

}  // namespace gyre::dissemination
