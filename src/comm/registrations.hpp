// The memory that a program registered with one communicator, by the handles that it was given.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/status.hpp"
#include "transport/shm/region.hpp"

namespace gyre {

// Any thread.
class Registrations {
 public:
  // The handle is no other registration's.
  Result<void*> add(const void* buffer, std::size_t bytes) {
    auto hold = std::make_unique<RegionHold>(region_hold(buffer, bytes));
    void* const handle = hold.get();
    const std::lock_guard lock(mutex_);
    holds_.emplace(handle, std::move(hold));
    return handle;
  }
  // Error: a handle that was not given, or was removed.
  Result<void> remove(const void* handle) {
    const auto removed = [&] {
      const std::lock_guard lock(mutex_);
      return holds_.extract(handle);
    }();
    if (!removed.empty()) return {};
    return Error{Status::invalid_usage,
                 "the handle was not given by ncclCommRegister for this communicator, or was "
                 "deregistered already"};
  }
  void clear() {
    const auto removed = [&] {
      const std::lock_guard lock(mutex_);
      return std::exchange(holds_, {});
    }();
  }

 private:
  std::mutex mutex_;
  std::map<const void*, std::unique_ptr<RegionHold>> holds_;
};

}  // namespace gyre
