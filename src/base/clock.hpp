// Monotonic time and deadlines.
#pragma once

#include <algorithm>
#include <chrono>
#include <optional>

namespace gyre {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

// A point after which a wait gives up; `never()` waits for ever.
class Deadline {
 public:
  static Deadline never() { return Deadline(Clock::time_point::max()); }
  static Deadline after(Clock::duration duration) { return Deadline(Clock::now() + duration); }

  bool expired() const { return !is_never() && Clock::now() >= at_; }
  bool is_never() const { return at_ == Clock::time_point::max(); }
  Clock::time_point at() const { return at_; }
  Deadline earlier(Deadline other) const { return at_ < other.at_ ? *this : other; }

  // Milliseconds left, rounded up, at most `cap`: the argument of poll(2).
  int poll_timeout(milliseconds cap = milliseconds(1000)) const {
    if (is_never()) return static_cast<int>(cap.count());
    const auto left = std::chrono::ceil<milliseconds>(at_ - Clock::now());
    return static_cast<int>(std::clamp(left, milliseconds(0), cap).count());
  }

 private:
  explicit Deadline(Clock::time_point at) : at_(at) {}
  Clock::time_point at_;
};

}  // namespace gyre
