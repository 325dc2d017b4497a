// What a fold does to accumulators. The bits agree with kernels/host, whose README has the rules.
//
// An operation has:
//   enter(v, source)  an operand before it is combined
//   combine(a, b)     the fold
//   leave(v)          the last change before the result is rounded to the element type
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

#include "kernels/device/portable.cuh"
#include "kernels/fold.hpp"

namespace gyre::device {

template <class Acc>
using BitsOf = std::conditional_t<sizeof(Acc) == 8, std::uint64_t, std::uint32_t>;

template <class Acc>
struct Sum {
  __device__ __forceinline__ Acc enter(Acc v, std::uint32_t) const { return v; }
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_floating_point_v<Acc>) {
      return rounded_sum(a, b);
    } else {
      return a + b;
    }
  }
  __device__ __forceinline__ Acc leave(Acc v) const { return v; }
};

template <class Acc>
struct Product : Sum<Acc> {
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_floating_point_v<Acc>) {
      return rounded_product(a, b);
    } else {
      return a * b;
    }
  }
};

// Equal floats differ at most in the sign of a zero: "and" gives +0 if there is one, "or" -0.
template <class Acc>
struct Maximum : Sum<Acc> {
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_floating_point_v<Acc>) {
      using Bits = BitsOf<Acc>;
      const Acc larger = a > b || a != a ? a : b;
      const Acc same = std::bit_cast<Acc>(std::bit_cast<Bits>(a) & std::bit_cast<Bits>(b));
      return a == b ? same : larger;
    } else {
      return a > b ? a : b;
    }
  }
};

template <class Acc>
struct Minimum : Sum<Acc> {
  __device__ __forceinline__ Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_floating_point_v<Acc>) {
      using Bits = BitsOf<Acc>;
      const Acc smaller = a < b || a != a ? a : b;
      const Acc same = std::bit_cast<Acc>(std::bit_cast<Bits>(a) | std::bit_cast<Bits>(b));
      return a == b ? same : smaller;
    } else {
      return a < b ? a : b;
    }
  }
};

// The product is rounded before it is added.
template <class Acc>
struct ScaledSum : Sum<Acc> {
  Acc factor;
  std::uint32_t local;
  __device__ __forceinline__ ScaledSum(Acc f, std::uint32_t l) : factor(f), local(l) {}
  __device__ __forceinline__ Acc enter(Acc v, std::uint32_t source) const {
    return source == local ? Product<Acc>().combine(v, factor) : v;
  }
};

// A true division: multiplying by the reciprocal would round twice.
__device__ __forceinline__ float quotient(float sum, int ranks) {
  return rounded_quotient(sum, static_cast<float>(ranks));
}
__device__ __forceinline__ double quotient(double sum, int ranks) {
  return rounded_quotient(sum, static_cast<double>(ranks));
}
__device__ __forceinline__ std::int32_t quotient(std::int32_t sum, int ranks) {
  return sum / ranks;
}
// Sums of 32-bit operands. The quotient of two integers below 2^52 never rounds up to the next
// integer, and GPUs have no 64-bit integer division.
__device__ __forceinline__ std::int64_t quotient(std::int64_t sum, int ranks) {
  return static_cast<std::int64_t>(quotient(static_cast<double>(sum), ranks));
}
// Sums of 64-bit operands: long division, digits of 32 bits. Only the low 64 bits of the quotient
// are ever stored, so the digits above are not computed.
__device__ __forceinline__ __int128 quotient(__int128 sum, int ranks) {
  const bool negative = sum < 0;
  auto magnitude = static_cast<unsigned __int128>(sum);
  if (negative) magnitude = -magnitude;
  const auto divisor = static_cast<std::uint64_t>(ranks);
  const auto low = static_cast<std::uint64_t>(magnitude);
  std::uint64_t rest = static_cast<std::uint64_t>(magnitude >> 64) % divisor;
  rest = rest << 32 | low >> 32;
  const std::uint64_t upper = rest / divisor;
  rest = (rest - upper * divisor) << 32 | (low & 0xffff'ffffu);
  const std::uint64_t result = upper << 32 | rest / divisor;
  return negative ? 0 - result : result;
}

template <class Acc>
struct Average : Sum<Acc> {
  int ranks;
  __device__ __forceinline__ explicit Average(int r) : ranks(r) {}
  __device__ __forceinline__ Acc leave(Acc v) const { return quotient(v, ranks); }
};

// premulsum's factor. For integers of 8 bits the caller drops what is above; out of int64's range
// (or NaN) there is no residue to take, and such a scale counts as 0.
template <class Acc>
__device__ __forceinline__ Acc factor_of(const Fold& fold) {
  if constexpr (std::is_floating_point_v<Acc>) {
    return static_cast<Acc>(fold.scale);
  } else if constexpr (sizeof(Acc) == 8) {
    return fold.scale_bits;
  } else {
    constexpr double kLimit = 9223372036854775808.0;
    if (!(fold.scale < kLimit && fold.scale > -kLimit)) return 0;
    return static_cast<Acc>(static_cast<std::int64_t>(fold.scale));
  }
}

}  // namespace gyre::device
