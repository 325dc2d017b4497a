// The order in which a communicator's calls run: a call takes a turn when it is issued and runs
// when all earlier turns are done, whatever threads and streams they run on.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>

#include "base/clock.hpp"

namespace gyre {

class Turns {
 public:
  // Issues the next turn. Every turn taken must be waited for and ended, in error cases too.
  std::uint64_t take() { return next_.fetch_add(1, std::memory_order_relaxed); }

  // Blocks until the turn has come. Earlier turns always end, because every wait in them does.
  void wait(std::uint64_t turn) {
    if (serving_.load(std::memory_order_acquire) == turn) return;
    sleep_until(Deadline::never(),
                [&] { return serving_.load(std::memory_order_seq_cst) == turn; });
  }

  // No lock, no system call unless somebody waits. Total order: either this store comes before a
  // waiter's look at it, or the waiter's count comes before the load here.
  void end(std::uint64_t turn) {
    serving_.store(turn + 1, std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_seq_cst) == 0) return;
    { const std::lock_guard lock(mutex_); }  // a waiter between its look and its sleep
    changed_.notify_all();
  }

  // Whether nothing is issued that has not ended.
  bool idle() const {
    return serving_.load(std::memory_order_seq_cst) == next_.load(std::memory_order_relaxed);
  }

  // Waits until idle, at most until the deadline; whether it is.
  bool wait_idle(Deadline deadline) {
    return sleep_until(deadline, [&] { return idle(); });
  }

 private:
  template <typename Condition>
  bool sleep_until(Deadline deadline, Condition condition) {
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    std::unique_lock lock(mutex_);
    const bool met = changed_.wait_until(lock, deadline.at(), condition);
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return met;
  }

  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> serving_{0};
  std::atomic<int> waiters_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace gyre
