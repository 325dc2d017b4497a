#include "base/abort.hpp"

#include <utility>

namespace gyre {

bool AbortState::raise(Error error) {
  std::vector<std::function<void()>> wakes;
  {
    const std::lock_guard lock(mutex_);
    if (raised_.load(std::memory_order_relaxed)) return false;
    reason_ = std::move(error);
    raised_.store(true, std::memory_order_release);
    // Not copied: from here on nothing may fail, or sleepers would never be woken.
    wakes.swap(wakes_);
  }
  for (const auto& wake : wakes) wake();
  return true;
}

Error AbortState::reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void AbortState::on_raise(std::function<void()> wake) {
  {
    const std::lock_guard lock(mutex_);
    if (!raised_.load(std::memory_order_relaxed)) {
      wakes_.push_back(std::move(wake));
      return;
    }
  }
  wake();
}

}  // namespace gyre
