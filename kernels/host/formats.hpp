// The floating-point formats below fp32: their layout, and exact scalar conversions.
//
// Widening is exact. Narrowing rounds to nearest even and keeps subnormals. NaN becomes the NaN
// with a clear sign and all other bits set, in both directions. Overflow of a finite value gives
// infinity in fp16 and bf16 and the largest finite value in fp8 (what CUDA calls SATFINITE); an
// infinity stays one except in e4m3, which has none and takes its largest finite value.
#pragma once

#include <bit>
#include <cstdint>

namespace gyre {

inline constexpr std::uint32_t kFloat32Nan = 0x7fff'ffffu;
inline constexpr std::uint64_t kFloat64Nan = 0x7fff'ffff'ffff'ffffu;

enum class Overflow : std::uint8_t { to_infinity, saturate_finite, saturate_all };

// Layout of a sign, `exponent` bits and `mantissa` bits, with the fp32 bit patterns that convert
// it.
template <int exponent, int mantissa, Overflow overflow, std::uint32_t largest>
struct SmallFloat {
  static constexpr int kBias = (1 << (exponent - 1)) - 1;
  static constexpr Overflow kOverflow = overflow;
  static constexpr bool kHasInfinity = overflow != Overflow::saturate_all;
  static constexpr int kShift = 23 - mantissa;  // fp32 mantissa bits that rounding drops
  static constexpr int kSignShift = 31 - exponent - mantissa;  // fp32 sign to this format's sign
  static constexpr std::uint32_t kMagnitude = (1u << (exponent + mantissa)) - 1;
  static constexpr std::uint32_t kNan = kMagnitude;
  static constexpr std::uint32_t kInfinity = ((1u << exponent) - 1) << mantissa;
  static constexpr std::uint32_t kLargest = largest;  // code of the largest finite value
  static constexpr std::uint32_t fp32_power(int power) {
    return static_cast<std::uint32_t>(127 + power) << 23;
  }
  static constexpr std::uint32_t kRebias = static_cast<std::uint32_t>(127 - kBias) << 23;
  static constexpr std::uint32_t kMinNormal = fp32_power(1 - kBias);
  // Adding this to a subnormal magnitude lets the fp32 adder round it to this format's step.
  static constexpr std::uint32_t kRounder = fp32_power(23 + 1 - kBias - mantissa);
  // Magnitudes above this one convert as this one does.
  static constexpr std::uint32_t kLimit =
      overflow == Overflow::to_infinity ? fp32_power(kBias + 1) : (kLargest << kShift) + kRebias;
};

using Half = SmallFloat<5, 10, Overflow::to_infinity, 0x7bff>;
using Float8E4m3 = SmallFloat<4, 3, Overflow::saturate_all, 0x7e>;
using Float8E5m2 = SmallFloat<5, 2, Overflow::saturate_finite, 0x7b>;

template <class Format>
constexpr std::uint32_t narrow(float value) {
  constexpr std::uint32_t kInfinity32 = 0x7f80'0000u;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits & 0x8000'0000u) >> Format::kSignShift;
  std::uint32_t magnitude = bits & 0x7fff'ffffu;
  if (magnitude > kInfinity32) return Format::kNan;
  if (Format::kHasInfinity && magnitude == kInfinity32) return sign | Format::kInfinity;
  if (magnitude > Format::kLimit) magnitude = Format::kLimit;
  if (magnitude < Format::kMinNormal) {
    const float rounded = std::bit_cast<float>(magnitude) + std::bit_cast<float>(Format::kRounder);
    return sign | (std::bit_cast<std::uint32_t>(rounded) - Format::kRounder);
  }
  const std::uint32_t odd = (magnitude >> Format::kShift) & 1u;
  const std::uint32_t below_half = (1u << (Format::kShift - 1)) - 1;
  return sign | ((magnitude - Format::kRebias + below_half + odd) >> Format::kShift);
}

template <class Format>
constexpr float widen(std::uint32_t code) {
  const std::uint32_t sign = (code & (Format::kMagnitude + 1)) << Format::kSignShift;
  const std::uint32_t magnitude = code & Format::kMagnitude;
  if (magnitude > (Format::kHasInfinity ? Format::kInfinity : Format::kLargest)) {
    return std::bit_cast<float>(kFloat32Nan);
  }
  if (Format::kHasInfinity && magnitude == Format::kInfinity) {
    return std::bit_cast<float>(sign | 0x7f80'0000u);
  }
  const std::uint32_t shifted = magnitude << Format::kShift;
  if (shifted <
      (1u << 23)) {  // subnormal: put the fraction under an implicit one, then remove that
    const float offset = std::bit_cast<float>(Format::kMinNormal);
    const float value = std::bit_cast<float>(shifted + Format::kMinNormal) - offset;
    return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(value));
  }
  return std::bit_cast<float>(sign | (shifted + Format::kRebias));
}

constexpr std::uint16_t half_from_float(float value) {
  return static_cast<std::uint16_t>(narrow<Half>(value));
}
constexpr float float_from_half(std::uint16_t code) { return widen<Half>(code); }

constexpr std::uint8_t float8e4m3_from_float(float value) {
  return static_cast<std::uint8_t>(narrow<Float8E4m3>(value));
}
constexpr float float_from_float8e4m3(std::uint8_t code) { return widen<Float8E4m3>(code); }

constexpr std::uint8_t float8e5m2_from_float(float value) {
  return static_cast<std::uint8_t>(narrow<Float8E5m2>(value));
}
constexpr float float_from_float8e5m2(std::uint8_t code) { return widen<Float8E5m2>(code); }

inline constexpr std::uint16_t kBfloat16Nan = 0x7fff;

// bf16 is the upper half of an fp32, so that one integer addition rounds every magnitude.
constexpr std::uint16_t bfloat16_from_float(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fff'ffffu) > 0x7f80'0000u) return kBfloat16Nan;
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
constexpr float float_from_bfloat16(std::uint16_t code) {
  if ((code & 0x7fffu) > 0x7f80u) return std::bit_cast<float>(kFloat32Nan);
  return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
}

}  // namespace gyre
