#include "comm/user_ops.hpp"

#include <fmt/format.h>

#include <atomic>

namespace gyre {
Result<int> UserOps::create(const void* scalar, DataType type, bool device_scalar) {
  Operation operation;
  operation.type = type;
  if (device_scalar) {
    operation.scalar = scalar;
  } else {
    operation.factor = read_factor(static_cast<const std::byte*>(scalar), type);
  }
  // Handles are unique in the process, so that another communicator's, or a destroyed one's, is
  // known for what it is.
  static std::atomic<int> next{kFirstHandle};
  const std::lock_guard lock(mutex_);
  const int handle = next.fetch_add(1, std::memory_order_relaxed);
  if (handle < kFirstHandle) {
    return Error{Status::system,
                 "this process has created 2^31 reductions, more than can be named"};
  }
  operations_.emplace(handle, operation);
  return handle;
}

Result<void> UserOps::destroy(int handle) {
  const std::lock_guard lock(mutex_);
  if (operations_.erase(handle) == 0) {
    return Error{Status::invalid_argument,
                 fmt::format("reduction {} was not created on this communicator", handle)};
  }
  return {};
}

Result<UserOps::Found> UserOps::find(int handle, DataType type) const {
  const std::lock_guard lock(mutex_);
  const auto found = operations_.find(handle);
  if (found == operations_.end()) {
    return Error{
        Status::invalid_argument,
        fmt::format("reduction {} is neither built in nor created on this communicator", handle)};
  }
  const Operation& operation = found->second;
  if (operation.type != type) {
    return Error{Status::invalid_argument,
                 fmt::format("reduction {} was created for {}, the call is of {}", handle,
                             name_of(operation.type), name_of(type))};
  }
  return Found{operation.factor, operation.scalar};
}

}  // namespace gyre
