// Threads on cores of their own that start together.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>
#include <vector>

namespace gyre::limits {

using Cores = std::vector<int>;

inline double now() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

inline void run_on(int core) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core), &only);
  pthread_setaffinity_np(pthread_self(), sizeof only, &only);
}

// One thread for each core; seconds from the start of the first until the last is done with
// `body(side)`, sides counting from 0.
inline double timed_together(const Cores& cores,
                             const std::function<void(std::size_t side)>& body) {
  std::atomic<std::size_t> ready{0};
  std::vector<double> begin(cores.size());
  std::vector<double> end(cores.size());
  std::vector<std::thread> threads;
  for (std::size_t side = 0; side < cores.size(); ++side) {
    threads.emplace_back([&, side] {
      run_on(cores[side]);
      ready.fetch_add(1);
      while (ready.load() < cores.size()) {
      }
      begin[side] = now();
      body(side);
      end[side] = now();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return *std::max_element(end.begin(), end.end()) - *std::min_element(begin.begin(), begin.end());
}

}  // namespace gyre::limits
