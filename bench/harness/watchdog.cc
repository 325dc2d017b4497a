#include "bench/harness/watchdog.hpp"

#include <utility>

namespace gyre::bench {

Watchdog::Watchdog(std::chrono::seconds timeout, std::function<void()> expired)
    : timeout_(timeout) {
  if (timeout.count() == 0) return;
  thread_ = std::thread([this, expired = std::move(expired)] { watch(expired); });
}

Watchdog::~Watchdog() {
  if (!thread_.joinable()) return;
  {
    const std::scoped_lock lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void Watchdog::arm() {
  if (timeout_.count() == 0) return;
  deadline_.store((Clock::now() + timeout_).time_since_epoch().count(), std::memory_order_relaxed);
}

void Watchdog::disarm() { deadline_.store(0, std::memory_order_relaxed); }

void Watchdog::watch(const std::function<void()>& expired) {
  // Coarse on purpose: a deadline in seconds needs no better, and arm() need not wake anybody.
  constexpr std::chrono::milliseconds kPeriod(100);
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kPeriod, [this] { return stop_; })) {
    const Clock::rep deadline = deadline_.load(std::memory_order_relaxed);
    if (deadline != 0 && Clock::now().time_since_epoch().count() > deadline) {
      expired();
      return;
    }
  }
}

}  // namespace gyre::bench
