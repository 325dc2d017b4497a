// The bits of the floating-point types, to and from double.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "nccl.h"

namespace gyre::bench {

struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int max_exponent;  // of the largest power of two that is finite

  constexpr int precision() const { return mantissa_bits + 1; }
  constexpr int min_exponent() const { return 2 - (1 << (exponent_bits - 1)); }   // normal
  constexpr int tiny_exponent() const { return min_exponent() - mantissa_bits; }  // denormal unit
  constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
};

// Only for the floating-point types.
constexpr FloatFormat format_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return {5, 10, 15};
    case ncclBfloat16:
      return {8, 7, 127};
    case ncclFloat8e4m3:
      return {4, 3, 8};  // no infinities: one more binade than IEEE would have
    case ncclFloat8e5m2:
      return {5, 2, 15};
    case ncclFloat64:
      return {11, 52, 1023};
    default:
      return {8, 23, 127};
  }
}

constexpr double power_of_two(int exponent) {
  if (exponent >= -1022) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }
  return std::bit_cast<double>(std::uint64_t{1} << (exponent + 1074));
}

// Nearest value, ties to even. `value` must be finite and in range.
inline std::uint64_t encode(FloatFormat format, double value) {
  if (format.exponent_bits == 11) return std::bit_cast<std::uint64_t>(value);
  if (format.mantissa_bits == 23) return std::bit_cast<std::uint32_t>(static_cast<float>(value));
  const std::uint64_t sign = std::signbit(value) ? std::uint64_t{1} << (format.bits() - 1) : 0;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  const int exponent = std::max(std::ilogb(magnitude), format.min_exponent());
  const double quanta = std::nearbyint(magnitude / power_of_two(exponent - format.mantissa_bits));
  // The hidden bit of a normal number adds itself to the exponent field; a carry does too.
  const auto above = static_cast<std::uint64_t>(exponent - format.min_exponent());
  return sign | ((above << format.mantissa_bits) + static_cast<std::uint64_t>(quanta));
}

// Infinities and NaNs of the small formats decode to large finite numbers; callers compare bits
// first, so this only has to differ from what is expected.
inline double decode(FloatFormat format, std::uint64_t bits) {
  if (format.exponent_bits == 11) return std::bit_cast<double>(bits);
  if (format.mantissa_bits == 23) return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
  const std::uint64_t fraction = bits & ((std::uint64_t{1} << format.mantissa_bits) - 1);
  const int field =
      static_cast<int>((bits >> format.mantissa_bits) & ((1U << format.exponent_bits) - 1));
  const bool negative = ((bits >> (format.bits() - 1)) & 1) != 0;
  const double hidden = field == 0 ? 0 : power_of_two(format.mantissa_bits);
  const int exponent = std::max(field, 1) - 1 + format.tiny_exponent();
  const double magnitude = (hidden + static_cast<double>(fraction)) * power_of_two(exponent);
  return negative ? -magnitude : magnitude;
}

}  // namespace gyre::bench
