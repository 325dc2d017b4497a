// Two threads on two cores that start together.
#pragma once

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <functional>
#include <thread>

namespace gyre::limits {

using Cores = std::array<int, 2>;

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

// Seconds from the start of both until the slower one is done with `body(side)`.
inline double timed_pair(const Cores& cores, const std::function<void(int side)>& body) {
  std::atomic<int> ready{0};
  std::array<double, 2> begin{};
  std::array<double, 2> end{};
  const auto side_body = [&](int side) {
    const auto at = static_cast<std::size_t>(side);
    run_on(cores.at(at));
    ready.fetch_add(1);
    while (ready.load() < 2) {
    }
    begin.at(at) = now();
    body(side);
    end.at(at) = now();
  };
  std::thread other(side_body, 1);
  std::thread(side_body, 0).join();
  other.join();
  return std::max(end[0], end[1]) - std::min(begin[0], begin[1]);
}

}  // namespace gyre::limits
