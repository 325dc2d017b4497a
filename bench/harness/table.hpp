// The lines that the programs print, in the form that scripts written for nccl-tests read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "bench/harness/layout.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/stats.hpp"

namespace gyre::bench {

// What one placement (out-of-place or in-place) of a row measured.
struct Measurement {
  double seconds = 0;                       // of one operation
  double algorithm_gbps = 0, bus_gbps = 0;  // 1e9 bytes per second
  std::optional<std::int64_t> wrong;        // nothing if it was not checked
};

struct RowKey {
  std::size_t bytes = 0;
  std::size_t count = 0;
  std::string_view type, op;
  int root = -1;
};

// At most `width` characters, with as many of two decimals as fit.
std::string fit_number(double value, int width);
std::string time_of_day();

// Pure functions from facts to text, newline included where a line ends.
std::string opening_text(const std::string& program, int library_version, const Options& options);
std::string device_text(const std::vector<DeviceLine>& lines);
std::string header_text(const Options& options);
std::string row_text(const RowKey& key);
std::string measurement_text(const Measurement& measurement);
std::string stats_text(const IterStats& stats);  // of seconds

struct Footer {
  std::int64_t wrong_runs = 0;         // checks that found wrong elements
  double bus_gbps = 0;                 // mean over all measurements
  std::optional<double> min_bus_gbps;  // NCCL_TESTS_MIN_BW
  bool fast_enough() const { return !min_bus_gbps || bus_gbps >= *min_bus_gbps * 0.9; }
};
std::string footer_text(const Footer& footer, const std::string& program);

}  // namespace gyre::bench
