#include "comm/user_ops.hpp"

#include <fmt/format.h>

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

int UserOps::create(const void* scalar, DataType type, bool device_scalar) {
  Slot slot;
  slot.live = true;
  slot.type = type;
  if (device_scalar) {
    slot.scalar = scalar;
  } else {
    slot.factor = read_factor(scalar, type);
  }
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    if (!slots_[i].live) {
      slots_[i] = slot;
      return kFirstHandle + static_cast<int>(i);
    }
  }
  slots_.push_back(slot);
  return kFirstHandle + static_cast<int>(slots_.size() - 1);
}

Result<void> UserOps::destroy(int handle) {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(handle - kFirstHandle);
  if (handle < kFirstHandle || index >= slots_.size() || !slots_[index].live) {
    return Error{Status::invalid_argument,
                 fmt::format("reduction {} was not created on this communicator", handle)};
  }
  slots_[index].live = false;
  return {};
}

Result<UserOps::Found> UserOps::find(int handle, DataType type) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(handle - kFirstHandle);
  if (handle < kFirstHandle || index >= slots_.size() || !slots_[index].live) {
    return Error{
        Status::invalid_argument,
        fmt::format("reduction {} is neither built in nor created on this communicator", handle)};
  }
  const Slot& slot = slots_[index];
  if (slot.type != type) {
    return Error{Status::invalid_argument,
                 fmt::format("reduction {} was created for {}, the call is of {}", handle,
                             name_of(slot.type), name_of(type))};
  }
  return Found{slot.factor, slot.scalar};
}

}  // namespace gyre
