// Statistics of single iterations (-I).
#pragma once

#include <span>

namespace gyre::bench {

struct IterStats {
  double min = 0, max = 0, mean = 0;
  double p50 = 0, p95 = 0, p99 = 0;                                       // nearest rank
  double stdev = 0;                                                       // of the population
  double variation() const { return mean > 0 ? stdev / mean * 100 : 0; }  // per cent
};

// `times` in any unit, not empty.
IterStats iteration_stats(std::span<const double> times);

}  // namespace gyre::bench
