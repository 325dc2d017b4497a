// A mutex that can be waited for up to a deadline. (std::timed_mutex can too, but ThreadSanitizer
// does not know the call under it.)
#pragma once

#include <condition_variable>
#include <mutex>

#include "base/clock.hpp"

namespace gyre {

class Gate {
 public:
  void enter() {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [&] { return !inside_; });
    inside_ = true;
  }
  // Whether it was entered; false when the deadline passed first.
  bool enter_until(Deadline deadline) {
    std::unique_lock lock(mutex_);
    if (!left_.wait_until(lock, deadline.at(), [&] { return !inside_; })) return false;
    inside_ = true;
    return true;
  }
  void leave() {
    {
      const std::lock_guard lock(mutex_);
      inside_ = false;
    }
    left_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable left_;
  bool inside_ = false;
};

}  // namespace gyre
