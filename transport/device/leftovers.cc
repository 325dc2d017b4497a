#include "transport/device/leftovers.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/contain.hpp"
#include "base/process_end.hpp"

namespace gyre {
namespace {

constexpr milliseconds kInterval{20};
constexpr milliseconds kPause{50};
constexpr milliseconds kPoll{1};
constexpr int kAttemptsBeforePause = 50;

}  // namespace

// Never destroyed: its thread may still be there when the process ends, but finds no work any more.
Leftovers& Leftovers::of_process() {
  static auto& leftovers = *[] {
    ProcessEnd::watch();
    return new Leftovers;
  }();
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

void Leftovers::watch_until(std::function<bool()> is_idle) {
  const std::lock_guard lock(mutex_);
  passing_.push_back(std::move(is_idle));
}

void Leftovers::add(std::function<void()> give_back) {
  const std::lock_guard lock(mutex_);
  all_.push_back(std::move(give_back));
  if (running_) return;
  // Without a thread it stays until the next one.
  running_ = static_cast<bool>(contained("giving memory back", [this]() -> Result<void> {
    std::thread([this] { run(); }).detach();
    return {};
  }));
}

void Leftovers::run() {
  for (int attempt = 1;; ++attempt) {
    std::this_thread::sleep_for(kInterval);
    const ProcessEnd::Work work;
    if (!work) return;
    const bool pauses = attempt % kAttemptsBeforePause == 0;
    (void)settle(Deadline::after(pauses ? kPause : milliseconds(0)));
    const std::lock_guard lock(mutex_);
    if (!all_.empty()) continue;
    running_ = false;
    return;
  }
}

// Called with the lock held.
bool Leftovers::is_idle() {
  std::erase_if(passing_, [](const auto& passed) { return passed(); });
  return passing_.empty() &&
         std::all_of(watches_.begin(), watches_.end(), [](const auto& idle) { return idle(); });
}

bool Leftovers::settle(Deadline deadline) {
  const std::unique_lock enqueueing(enqueueing_);
  std::vector<std::function<void()>> ready;
  for (;;) {
    {
      const std::lock_guard lock(mutex_);
      if (all_.empty()) return true;
      if (is_idle()) {
        ready.swap(all_);
        break;
      }
    }
    if (deadline.expired()) return false;
    std::this_thread::sleep_for(kPoll);
  }
  for (const auto& give_back : ready) give_back();
  return true;
}

}  // namespace gyre
