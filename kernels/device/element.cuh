// How stored elements become accumulators and back, for each element type.
//
// A form has:
//   Code           an element as it lies in memory
//   Acc            what accumulates it
//   widen, narrow  from one to the other; narrow also makes every NaN the one of kernels/host
//   kRescues       whether a result that is not finite must be computed again, by
//   rescue(task, at)  one element's code, with a wider exponent
// The bits agree with kernels/host.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/types.hpp"
#include "kernels/device/access.cuh"
#include "kernels/device/fold_task.hpp"
#include "kernels/device/operation.cuh"
#include "kernels/device/portable.cuh"
#include "kernels/host/formats.hpp"

namespace gyre::device {

__device__ __forceinline__ float canonical(float v) {
  return v != v ? std::bit_cast<float>(kFloat32Nan) : v;
}
__device__ __forceinline__ double canonical(double v) {
  return v != v ? std::bit_cast<double>(kFloat64Nan) : v;
}
__device__ __forceinline__ bool is_finite(float v) {
  return (std::bit_cast<std::uint32_t>(v) & 0x7f80'0000u) != 0x7f80'0000u;
}
__device__ __forceinline__ bool is_finite(double v) {
  const auto high = static_cast<std::uint32_t>(std::bit_cast<std::uint64_t>(v) >> 32);
  return (high & 0x7ff0'0000u) != 0x7ff0'0000u;
}

template <class CodeType, class AccType>
struct Form {
  using Code = CodeType;
  using Acc = AccType;
  static constexpr bool kRescues = false;
};

struct Float32Form : Form<std::uint32_t, float> {
  __device__ __forceinline__ static float widen(std::uint32_t code) {
    return std::bit_cast<float>(code);
  }
  __device__ __forceinline__ static std::uint32_t narrow(float v) {
    return std::bit_cast<std::uint32_t>(canonical(v));
  }
};

// fp64 holds any sum of fp32 operands, so that an average cannot overflow on the way.
struct Float32InFloat64Form : Form<std::uint32_t, double> {
  __device__ __forceinline__ static double widen(std::uint32_t code) {
    return static_cast<double>(std::bit_cast<float>(code));
  }
  __device__ __forceinline__ static std::uint32_t narrow(double v) {
    return Float32Form::narrow(static_cast<float>(v));
  }
};

struct Float64Form : Form<std::uint64_t, double> {
  __device__ __forceinline__ static double widen(std::uint64_t code) {
    return std::bit_cast<double>(code);
  }
  __device__ __forceinline__ static std::uint64_t narrow(double v) {
    return std::bit_cast<std::uint64_t>(canonical(v));
  }
};

__device__ __forceinline__ double power_of_two(int power) {
  return std::bit_cast<double>(static_cast<std::uint64_t>(1023 + power) << 52);
}

// No wider type to escape to: an element whose sum overflows is summed again, every operand scaled
// down by a power of two that is no less than their number.
struct Float64AverageForm : Float64Form {
  static constexpr bool kRescues = true;

  __device__ static std::uint64_t rescue(const FoldTask& task, std::uint64_t at) {
    const int power = static_cast<int>(std::bit_width(task.source_count));
    const double down = power_of_two(-power);
    double sum = widen(load_element<std::uint64_t>(task.sources[0] + at));
    double scaled = rounded_product(sum, down);
    bool all_finite = is_finite(sum);
    for (std::uint32_t source = 1; source < task.source_count; ++source) {
      const double operand = widen(load_element<std::uint64_t>(task.sources[source] + at));
      all_finite = all_finite && is_finite(operand);
      sum = rounded_sum(sum, operand);
      scaled = rounded_sum(scaled, rounded_product(operand, down));
    }
    const int ranks = task.fold.ranks;
    if (is_finite(sum) || !all_finite) return narrow(quotient(sum, ranks));
    return narrow(rounded_product(quotient(scaled, ranks), power_of_two(power)));
  }
};

struct HalfForm : Form<std::uint16_t, float> {
  __device__ __forceinline__ static float widen(std::uint16_t code) { return widen_half(code); }
  __device__ __forceinline__ static std::uint16_t narrow(float v) {
    return narrow_half(canonical(v));
  }
};

struct Bfloat16Form : Form<std::uint16_t, float> {
  __device__ __forceinline__ static float widen(std::uint16_t code) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(code) << 16);
  }
  __device__ __forceinline__ static std::uint16_t narrow(float v) { return bfloat16_from_float(v); }
};

// bf16 reaches as far as fp32: an element whose fp32 sum overflows is summed again in fp64.
struct Bfloat16AverageForm : Bfloat16Form {
  static constexpr bool kRescues = true;

  __device__ static std::uint16_t rescue(const FoldTask& task, std::uint64_t at) {
    float sum = widen(load_element<std::uint16_t>(task.sources[0] + at));
    double wide = static_cast<double>(sum);
    bool all_finite = is_finite(sum);
    for (std::uint32_t source = 1; source < task.source_count; ++source) {
      const float operand = widen(load_element<std::uint16_t>(task.sources[source] + at));
      all_finite = all_finite && is_finite(operand);
      sum = rounded_sum(sum, operand);
      wide = rounded_sum(wide, static_cast<double>(operand));
    }
    const int ranks = task.fold.ranks;
    if (is_finite(sum) || !all_finite) return narrow(quotient(sum, ranks));
    return narrow(static_cast<float>(quotient(wide, ranks)));
  }
};

// Both fp8 formats are an fp16 but for a shift: e5m2 is its upper byte, e4m3 has one bit of
// exponent less, hence values smaller by a power of two.
struct Float8E5m2Form : Form<std::uint8_t, float> {
  __device__ __forceinline__ static float widen(std::uint8_t code) {
    return widen_half(static_cast<std::uint16_t>(code << 8));
  }
  __device__ __forceinline__ static std::uint8_t narrow(float v) {
    if constexpr (!kConvertsFloat8) return float8e5m2_from_float(v);
    constexpr std::uint32_t kInfinity = 0x7f80'0000u;
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(v);
    const std::uint32_t magnitude = bits & 0x7fff'ffffu;
    std::uint32_t code = narrow_e5m2(v);
    if (magnitude == kInfinity) code = (bits >> 24 & 0x80u) | Float8E5m2::kInfinity;
    return static_cast<std::uint8_t>(magnitude > kInfinity ? Float8E5m2::kNan : code);
  }
};

struct Float8E4m3Form : Form<std::uint8_t, float> {
  __device__ __forceinline__ static float widen(std::uint8_t code) {
    if constexpr (kConvertsFloat8) return widen_e4m3(code);
    const std::uint32_t magnitude = code & 0x7fu;
    const std::uint32_t half = (code & 0x80u) << 8 | magnitude << 7;
    const float value = rounded_product(widen_half(static_cast<std::uint16_t>(half)), 256.0F);
    return magnitude == Float8E4m3::kNan ? std::bit_cast<float>(kFloat32Nan) : value;
  }
  __device__ __forceinline__ static std::uint8_t narrow(float v) {
    if constexpr (!kConvertsFloat8) return float8e4m3_from_float(v);
    return v != v ? static_cast<std::uint8_t>(Float8E4m3::kNan) : narrow_e4m3(v);
  }
};

// Elements of the integer type T in accumulators that may be wider. Results are taken mod 2^k, so
// where the accumulator wraps does not matter.
template <class T, class AccType>
struct IntegerForm : Form<std::make_unsigned_t<T>, AccType> {
  using Code = std::make_unsigned_t<T>;
  __device__ __forceinline__ static AccType widen(Code code) {
    return static_cast<AccType>(static_cast<T>(code));
  }
  __device__ __forceinline__ static Code narrow(AccType v) { return static_cast<Code>(v); }
};

// What a type's operations are computed in: Plain for sums and products, Ordered for max and min,
// Averaged for averages that are divided.
template <class PlainForm, class AveragedForm = PlainForm>
struct FloatForms {
  using Plain = PlainForm;
  using Ordered = PlainForm;
  using Averaged = AveragedForm;
};

// At least 32 bits, which is what GPUs compute in; exact sums for averages.
template <class T>
struct IntegerForms {
  static constexpr bool kSigned = std::is_signed_v<T>;
  using Unsigned = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
  using Same = std::conditional_t<kSigned, std::make_signed_t<Unsigned>, Unsigned>;
  using Narrow = std::conditional_t<sizeof(T) == 1, std::int32_t, std::int64_t>;
  using Exact = std::conditional_t<sizeof(T) == 8, __int128, Narrow>;
  using Plain = IntegerForm<T, Unsigned>;
  using Ordered = IntegerForm<T, Same>;
  using Averaged = IntegerForm<T, Exact>;
};

template <DataType type>
struct FormsOf;
template <>
struct FormsOf<DataType::int8> : IntegerForms<std::int8_t> {};
template <>
struct FormsOf<DataType::uint8> : IntegerForms<std::uint8_t> {};
template <>
struct FormsOf<DataType::int32> : IntegerForms<std::int32_t> {};
template <>
struct FormsOf<DataType::uint32> : IntegerForms<std::uint32_t> {};
template <>
struct FormsOf<DataType::int64> : IntegerForms<std::int64_t> {};
template <>
struct FormsOf<DataType::uint64> : IntegerForms<std::uint64_t> {};
template <>
struct FormsOf<DataType::float16> : FloatForms<HalfForm> {};
template <>
struct FormsOf<DataType::float32> : FloatForms<Float32Form, Float32InFloat64Form> {};
template <>
struct FormsOf<DataType::float64> : FloatForms<Float64Form, Float64AverageForm> {};
template <>
struct FormsOf<DataType::bfloat16> : FloatForms<Bfloat16Form, Bfloat16AverageForm> {};
template <>
struct FormsOf<DataType::float8e4m3> : FloatForms<Float8E4m3Form> {};
template <>
struct FormsOf<DataType::float8e5m2> : FloatForms<Float8E5m2Form> {};

}  // namespace gyre::device
