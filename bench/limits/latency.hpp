// How soon one core sees what another wrote.
#pragma once

#include "bench/limits/cores.hpp"

namespace gyre::limits {

// Microseconds one way, of a flag in shared memory that two cores pass to and fro.
double flag_micros(const Cores& cores, double seconds);

}  // namespace gyre::limits
