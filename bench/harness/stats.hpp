// Statistics of single iterations (-I).
#pragma once

#include <span>
#include <vector>

namespace gyre::bench {

struct IterStats {
  double min = 0, max = 0, mean = 0;
  double p50 = 0, p95 = 0, p99 = 0;                                       // nearest rank
  double stdev = 0;                                                       // of the population
  double variation() const { return mean > 0 ? stdev / mean * 100 : 0; }  // per cent
};

// `times` in any unit, not empty.
IterStats iteration_stats(std::span<const double> times);

// The largest of each iteration; `rows` are of equal length, at least one.
std::vector<double> maxima(const std::vector<std::vector<double>>& rows);

}  // namespace gyre::bench
