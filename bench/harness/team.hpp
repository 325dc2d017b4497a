// The measuring threads of all processes: barriers and reductions over them.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

#include "bench/harness/group.hpp"
#include "bench/harness/options.hpp"

namespace gyre::bench {

// Every thread of the process makes the same calls in the same order, each with its own number. The
// last one to arrive speaks with the other processes. If that fails, it throws, and the others
// stay where they are: the program is expected to end.
class Team {
 public:
  Team(ProcessGroup& group, int threads);

  void barrier();
  // `value` over all threads of all processes.
  double reduce(int thread, double value, Average how);
  std::int64_t sum(int thread, std::int64_t value);
  // Element-wise maxima over the threads of each process: one row per process, in rank order. All
  // threads give equally many times.
  std::vector<std::vector<double>> process_maxima(int thread, const std::vector<double>& times);

 private:
  // Runs `combine` on the last thread to arrive, while the others wait; then all leave.
  template <typename Combine>
  void meet(Combine&& combine);

  ProcessGroup& group_;
  const int threads_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int arrived_ = 0;
  std::uint64_t round_ = 0;
  // What each thread gave, and what the last one made of it. A result outlives the round: the next
  // one overwrites it only when all threads have arrived there, that is, have read it.
  std::vector<double> values_;
  std::vector<std::int64_t> counts_;
  std::vector<std::vector<double>> times_;
  double value_ = 0;
  std::int64_t count_ = 0;
  std::vector<std::vector<double>> rows_;
};

}  // namespace gyre::bench
