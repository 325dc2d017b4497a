// exp() for loops that the compiler turns into vector code; a libm call per element would cost
// more than the matrix products of a small model.
#pragma once

#include <bit>
#include <cstdint>

namespace gyre::train {

// e^x with a relative error below 3e-7 for x in [-87, 88]; outside it the nearer end's value.
inline float fast_exp(float x) {
  constexpr float kLog2e = 1.44269504088896341F;
  // ln 2 in two parts: the first has trailing zero bits, so that n times it is exact.
  constexpr float kLn2High = 0.693359375F;
  constexpr float kLn2Low = -2.12194440e-4F;
  // Adding it rounds to an integer, which then sits in the low bits of the sum.
  constexpr float kRounder = 12582912.0F;
  x = x < -87.0F ? -87.0F : x;  // not std::clamp, whose references defeat the vectoriser
  x = x > 88.0F ? 88.0F : x;
  const float shifted = x * kLog2e + kRounder;
  const float n = shifted - kRounder;
  const float r = (x - n * kLn2High) - n * kLn2Low;
  float p = 1.0F / 5040.0F;
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const auto exponent = static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23;
  return p * std::bit_cast<float>(exponent);
}

}  // namespace gyre::train
