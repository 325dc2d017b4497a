#include "comm/user_ops.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstring>

#include "kernels/host/formats.hpp"

namespace gyre {
namespace {

template <typename T>
T load(const void* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <typename T>
Factor integer(const void* scalar) {
  const T value = load<T>(scalar);
  return {static_cast<double>(value), static_cast<std::uint64_t>(value)};
}

}  // namespace

Factor read_factor(const void* scalar, DataType type) {
  switch (type) {
    case DataType::int8:
      return integer<std::int8_t>(scalar);
    case DataType::uint8:
      return integer<std::uint8_t>(scalar);
    case DataType::int32:
      return integer<std::int32_t>(scalar);
    case DataType::uint32:
      return integer<std::uint32_t>(scalar);
    case DataType::int64:
      return integer<std::int64_t>(scalar);
    case DataType::uint64:
      return integer<std::uint64_t>(scalar);
    case DataType::float16:
      return {float_from_half(load<std::uint16_t>(scalar)), 0};
    case DataType::bfloat16:
      return {float_from_bfloat16(load<std::uint16_t>(scalar)), 0};
    case DataType::float8e4m3:
      return {float_from_float8e4m3(load<std::uint8_t>(scalar)), 0};
    case DataType::float8e5m2:
      return {float_from_float8e5m2(load<std::uint8_t>(scalar)), 0};
    case DataType::float32:
      return {static_cast<double>(load<float>(scalar)), 0};
    case DataType::float64:
      return {load<double>(scalar), 0};
  }
  return {};
}

Result<int> UserOps::create(const void* scalar, DataType type, bool device_scalar) {
  Operation operation;
  operation.type = type;
  if (device_scalar) {
    operation.scalar = scalar;
  } else {
    operation.factor = read_factor(scalar, type);
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
