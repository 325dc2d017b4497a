#include "bench/harness/stats.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace gyre::bench {
namespace {

// The smallest value that at least `percent` of all values do not exceed.
double nearest_rank(const std::vector<double>& sorted, std::size_t percent) {
  const std::size_t rank = (sorted.size() * percent + 99) / 100;
  return sorted[std::min(sorted.size(), std::max<std::size_t>(rank, 1)) - 1];
}

}  // namespace

IterStats iteration_stats(std::span<const double> times) {
  std::vector<double> sorted(times.begin(), times.end());
  std::sort(sorted.begin(), sorted.end());
  const auto count = static_cast<double>(sorted.size());
  IterStats stats;
  stats.min = sorted.front();
  stats.max = sorted.back();
  stats.p50 = sorted[sorted.size() / 2];
  stats.p95 = nearest_rank(sorted, 95);
  stats.p99 = nearest_rank(sorted, 99);
  stats.mean = std::accumulate(sorted.begin(), sorted.end(), 0.0) / count;
  double squares = 0;
  for (const double time : sorted) squares += (time - stats.mean) * (time - stats.mean);
  stats.stdev = std::sqrt(squares / count);
  return stats;
}

std::vector<double> maxima(const std::vector<std::vector<double>>& rows) {
  std::vector<double> largest = rows.front();
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < largest.size(); ++i) largest[i] = std::max(largest[i], row[i]);
  }
  return largest;
}

}  // namespace gyre::bench
