// A mutex that can be waited for up to a deadline, one atomic exchange to enter and one to leave
// where nobody waits. (std::timed_mutex can be waited for too, but ThreadSanitizer does not know
// the call under it.)
#pragma once

#include <atomic>
#include <condition_variable>
#include <mutex>

#include "base/clock.hpp"

namespace gyre {

class Gate {
 public:
  void enter() { (void)enter_until(Deadline::never()); }
  // Whether it was entered; false when the deadline passed first.
  bool enter_until(Deadline deadline) {
    if (try_enter()) return true;
    waiters_.fetch_add(1, std::memory_order_seq_cst);
    std::unique_lock lock(mutex_);
    const bool entered = left_.wait_until(lock, deadline.at(), [&] { return try_enter(); });
    waiters_.fetch_sub(1, std::memory_order_relaxed);
    return entered;
  }
  bool try_enter() { return !inside_.exchange(true, std::memory_order_seq_cst); }
  // Total order: either this store comes before a waiter's look at it, or the waiter's count comes
  // before the load here.
  void leave() {
    inside_.store(false, std::memory_order_seq_cst);
    if (waiters_.load(std::memory_order_seq_cst) == 0) return;
    { const std::lock_guard lock(mutex_); }  // a waiter between its look and its sleep
    left_.notify_one();
  }

 private:
  std::atomic<bool> inside_{false};
  std::atomic<int> waiters_{0};
  std::mutex mutex_;
  std::condition_variable left_;
};

// Inside a gate, as long as it lives.
class Inside {
 public:
  explicit Inside(Gate& gate) : gate_(gate) { gate_.enter(); }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
  ~Inside() { gate_.leave(); }

 private:
  Gate& gate_;
};

}  // namespace gyre
