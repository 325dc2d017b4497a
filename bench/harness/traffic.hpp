// Who sends how much to whom in alltoallv_perf.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace gyre::bench {

// A square matrix of byte counts (row: sender, column: receiver), every one a multiple of 16.
struct TrafficMatrix {
  std::size_t size = 0;
  std::vector<std::size_t> bytes;

  std::size_t at(int from, int to) const {
    return bytes[static_cast<std::size_t>(from) * size + static_cast<std::size_t>(to)];
  }
};

// Reads whitespace-separated numbers, one row a line, times `scale`. Throws Failure that names row
// and column for what is not a square matrix of numbers >= 0.
TrafficMatrix parse_traffic(std::string_view text, double scale);

// The traffic of a run, from NCCL_TESTS_ALLTOALLV_{SPREAD,MATRIX_FILE,MATRIX_SCALE}.
class Traffic {
 public:
  // Weighted by distance: `spread` 0 sends equally much to all, 1 in proportion to the distance
  // (upwards around the ring of ranks; nothing to oneself).
  static Traffic generated(double spread);
  static Traffic from_matrix(TrafficMatrix matrix, double scale);
  // Bad numbers in the variables are replaced by their defaults or limits, as nccl-tests does it;
  // a bad matrix throws Failure.
  static Traffic from_environment();

  bool is_generated() const { return matrix_.size == 0; }
  std::size_t matrix_size() const { return matrix_.size; }

  // Bytes from one rank to another when a rank sends `total` bytes in all; a multiple of 16. The
  // matrix knows better than `total`.
  std::size_t bytes(int from, int to, int ranks, std::size_t total) const;
  std::size_t sent(int rank, int ranks, std::size_t total) const;
  std::size_t received(int rank, int ranks, std::size_t total) const;

  std::string describe(int ranks, std::size_t total) const;

 private:
  double spread_ = 1;
  double scale_ = 1;
  TrafficMatrix matrix_;
};

}  // namespace gyre::bench
