// What several cores together can copy and add.
#pragma once

#include <cstddef>

#include "bench/limits/cores.hpp"

namespace gyre::limits {

struct MemoryRate {
  double copy_gbps = 0;  // bytes of c in c = a
  double sum_gbps = 0;   // bytes of c in c = a + b, floats
};

// The best of what fits into `seconds`, for arrays of `bytes` each, which the cores share evenly.
MemoryRate memory_rate(const Cores& cores, std::size_t bytes, double seconds);

}  // namespace gyre::limits
