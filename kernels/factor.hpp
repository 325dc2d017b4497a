// The factor of a premulsum, as host and device kernels take it.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "kernels/host/formats.hpp"

namespace gyre {

// In the two forms that Fold has.
struct Factor {
  double scale = 1.0;
  std::uint64_t bits = 0;
};

template <typename T>
constexpr T load_bytes(const std::byte* from) {
  std::array<std::byte, sizeof(T)> bytes{};
  for (std::size_t i = 0; i < sizeof(T); ++i) bytes[i] = from[i];
  return std::bit_cast<T>(bytes);
}

template <typename T>
constexpr Factor integer_factor(const std::byte* scalar) {
  const T value = load_bytes<T>(scalar);
  return {static_cast<double>(value), static_cast<std::uint64_t>(value)};
}

// Reads one element of `type` at `scalar` (any alignment), and not a byte more.
constexpr Factor read_factor(const std::byte* scalar, DataType type) {
  switch (type) {
    case DataType::int8:
      return integer_factor<std::int8_t>(scalar);
    case DataType::uint8:
      return integer_factor<std::uint8_t>(scalar);
    case DataType::int32:
      return integer_factor<std::int32_t>(scalar);
    case DataType::uint32:
      return integer_factor<std::uint32_t>(scalar);
    case DataType::int64:
      return integer_factor<std::int64_t>(scalar);
    case DataType::uint64:
      return integer_factor<std::uint64_t>(scalar);
    case DataType::float16:
      return {float_from_half(load_bytes<std::uint16_t>(scalar)), 0};
    case DataType::bfloat16:
      return {float_from_bfloat16(load_bytes<std::uint16_t>(scalar)), 0};
    case DataType::float8e4m3:
      return {float_from_float8e4m3(load_bytes<std::uint8_t>(scalar)), 0};
    case DataType::float8e5m2:
      return {float_from_float8e5m2(load_bytes<std::uint8_t>(scalar)), 0};
    case DataType::float32:
      return {static_cast<double>(load_bytes<float>(scalar)), 0};
    case DataType::float64:
      return {load_bytes<double>(scalar), 0};
  }
  return {};
}

}  // namespace gyre
