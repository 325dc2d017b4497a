#include "transport/device/leftovers.hpp"

#include <algorithm>
#include <utility>

namespace gyre {

// Never destroyed: threads may still be at work when the process ends.
Leftovers& Leftovers::of_process() {
  static auto& leftovers = *new Leftovers;
  return leftovers;
}

Leftovers::Watch::Watch(std::function<bool()> is_idle) {
  Leftovers& leftovers = of_process();
  const std::lock_guard lock(leftovers.mutex_);
  place_ = leftovers.watches_.insert(leftovers.watches_.end(), std::move(is_idle));
}

Leftovers::Watch::~Watch() {
  Leftovers& leftovers = of_process();
  const std::lock_guard lock(leftovers.mutex_);
  leftovers.watches_.erase(place_);
}

void Leftovers::add(std::function<void()> give_back) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(give_back));
}

void Leftovers::settle() {
  const std::unique_lock enqueueing(enqueueing_, std::try_to_lock);
  if (!enqueueing.owns_lock()) return;
  std::vector<std::function<void()>> ready;
  {
    const std::lock_guard lock(mutex_);
    if (all_.empty()) return;
    const bool idle = std::all_of(watches_.begin(), watches_.end(),
                                  [](const auto& is_idle) { return is_idle(); });
    if (given_up_ || !idle) return;
    ready.swap(all_);
  }
  for (const auto& give_back : ready) give_back();
}

void Leftovers::give_up() {
  const std::lock_guard lock(mutex_);
  given_up_ = true;
}

}  // namespace gyre
