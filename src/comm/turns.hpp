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
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return serving_.load(std::memory_order_acquire) == turn; });
  }

  void end(std::uint64_t turn) {
    {
      // Under the mutex, so that a waiter between its check and its sleep does not miss it.
      const std::lock_guard lock(mutex_);
      serving_.store(turn + 1, std::memory_order_release);
    }
    changed_.notify_all();
  }

  // Whether nothing is issued that has not ended.
  bool idle() const {
    return serving_.load(std::memory_order_acquire) == next_.load(std::memory_order_relaxed);
  }

  // Waits until idle, at most until the deadline; whether it is.
  bool wait_idle(Deadline deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline.at(), [&] { return idle(); });
  }

 private:
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> serving_{0};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace gyre
