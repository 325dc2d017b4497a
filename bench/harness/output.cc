#include "bench/harness/output.hpp"

#include <cstdio>
#include <span>

#include "bench/harness/stats.hpp"

namespace gyre::bench {

void Output::print(const std::string& text) const {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void Output::begin_row(const RowKey& key) {
  print(row_text(key));
  if (json_) json_->row(key);
}

void Output::measured(bool in_place, const Measurement& measurement) {
  print(measurement_text(measurement));
  if (json_) json_->measurement(in_place, measurement, options_.report_cputime);
}

void Output::iterated(bool in_place, const std::vector<std::vector<double>>& processes) {
  const std::vector<double> times = maxima(processes);
  const auto skipped = static_cast<std::size_t>(options_.per_iter_skip);
  const IterStats stats = iteration_stats(std::span(times).subspan(skipped));
  print(stats_text(stats));
  if (json_) json_->iterations(in_place, stats, options_.per_iter_skip, times, processes);
}

void Output::end_row(const std::string& remarks, int iterations) {
  if (options_.report_timestamps) print("  " + time_of_day());
  print("\n" + remarks);
  if (json_) json_->end_row(iterations);
}

}  // namespace gyre::bench
