// What a fold must yield, computed one element at a time and by other means than the library:
// formats by searching a table of all their values, integers in 128 bits.
#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "kernels/host/reduce.hpp"

namespace gyre::test {

// Sign, `exponent` bits, `mantissa` bits; every value of a positive code is in a table.
class SlowFormat {
 public:
  enum class Overflow { infinity, saturate_finite, saturate_all };

  SlowFormat(int exponent, int mantissa, Overflow overflow)
      : sign_bit_(1u << (exponent + mantissa)), overflow_(overflow) {
    const int bias = (1 << (exponent - 1)) - 1;
    const std::uint32_t codes = overflow == Overflow::saturate_all
                                    ? sign_bit_ - 1  // all but the one NaN
                                    : ((1u << exponent) - 1) << mantissa;
    for (std::uint32_t code = 0; code < codes; ++code) {
      const int field = static_cast<int>(code >> mantissa);
      const double fraction = std::ldexp(code & ((1u << mantissa) - 1), -mantissa);
      values_.push_back(field == 0 ? std::ldexp(fraction, 1 - bias)
                                   : std::ldexp(1.0 + fraction, field - bias));
    }
  }

  std::uint32_t nan() const { return sign_bit_ - 1; }
  bool is_nan(std::uint32_t code) const {
    const std::uint32_t magnitude = code & (sign_bit_ - 1);
    return magnitude > values_.size() || (magnitude == values_.size() && !has_infinity());
  }
  bool has_infinity() const { return overflow_ != Overflow::saturate_all; }

  double decode(std::uint32_t code) const {
    if (is_nan(code)) return std::numeric_limits<double>::quiet_NaN();
    const std::uint32_t magnitude = code & (sign_bit_ - 1);
    const double value =
        magnitude == values_.size() ? std::numeric_limits<double>::infinity() : values_[magnitude];
    return (code & sign_bit_) != 0 ? -value : value;
  }

  // Nearest value, ties to the even code.
  std::uint32_t encode(double value) const {
    if (std::isnan(value)) return nan();
    const std::uint32_t sign = std::signbit(value) ? sign_bit_ : 0;
    const double magnitude = std::fabs(value);
    const auto last = static_cast<std::uint32_t>(values_.size()) - 1;
    if (std::isinf(value)) return sign | (has_infinity() ? last + 1 : last);
    const auto above = std::upper_bound(values_.begin(), values_.end(), magnitude);
    const auto below = static_cast<std::uint32_t>(above - values_.begin()) - 1;
    if (below == last && overflow_ != Overflow::infinity) return sign | last;
    const double step =
        below == last ? values_[last] - values_[last - 1] : values_[below + 1] - values_[below];
    const double middle = values_[below] + step / 2;
    const bool up = magnitude > middle || (magnitude == middle && (below & 1) != 0);
    return sign | (up ? below + 1 : below);
  }

 private:
  std::uint32_t sign_bit_;
  Overflow overflow_;
  std::vector<double> values_;
};

inline const SlowFormat& slow_format(DataType type) {
  using enum SlowFormat::Overflow;
  static const SlowFormat half(5, 10, infinity);
  static const SlowFormat bfloat16(8, 7, infinity);
  static const SlowFormat e4m3(4, 3, saturate_all);
  static const SlowFormat e5m2(5, 2, saturate_finite);
  switch (type) {
    case DataType::float16:
      return half;
    case DataType::bfloat16:
      return bfloat16;
    case DataType::float8e4m3:
      return e4m3;
    default:
      return e5m2;
  }
}

using Operands = std::span<const std::uint64_t>;  // bits of each source's element

inline bool oracle_computes(const Fold& fold, Operands operands) {
  return operands.size() > 1 || (fold.op == ReduceOp::premulsum && fold.local >= 0) ||
         (fold.op == ReduceOp::avg && fold.finish);
}

template <class T>
T oracle_extreme(bool largest, std::span<const T> values) {
  T best = values[0];
  for (const T value : values) {
    if (std::isnan(value)) return value;
    const bool zero_order = value == best && std::signbit(best) == largest;
    if (zero_order || (largest ? value > best : value < best)) best = value;
  }
  return best;
}

// Left-to-right arithmetic in T, each operation rounded to T.
template <class T>
T oracle_float(const Fold& fold, std::span<const T> values) {
  if (fold.op == ReduceOp::max || fold.op == ReduceOp::min) {
    return oracle_extreme(fold.op == ReduceOp::max, values);
  }
  T result = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    volatile T operand = values[i];
    if (fold.op == ReduceOp::premulsum && static_cast<int>(i) == fold.local) {
      operand = operand * static_cast<T>(fold.scale);
    }
    if (i == 0) {
      result = operand;
    } else {
      result = fold.op == ReduceOp::prod ? result * operand : result + operand;
    }
  }
  if (fold.op == ReduceOp::avg && fold.finish) result = result / static_cast<T>(fold.ranks);
  return result;
}

template <class T>
bool all_finite(std::span<const T> values) {
  return std::all_of(values.begin(), values.end(), [](T v) { return std::isfinite(v); });
}

inline double oracle_double(const Fold& fold, std::span<const double> values) {
  const double plain = oracle_float<double>(fold, values);
  const bool average = fold.op == ReduceOp::avg && fold.finish;
  if (!average || std::isfinite(plain) || !all_finite(values)) return plain;
  double factor = 1;
  while (factor <= static_cast<double>(values.size())) factor *= 2;
  double sum = values[0] / factor;
  for (std::size_t i = 1; i < values.size(); ++i) sum += values[i] / factor;
  return sum / fold.ranks * factor;
}

inline float oracle_single(const Fold& fold, std::span<const float> values) {
  if (fold.op != ReduceOp::avg || !fold.finish) return oracle_float<float>(fold, values);
  const std::vector<double> wide(values.begin(), values.end());
  return static_cast<float>(oracle_float<double>(fold, wide));
}

inline std::uint64_t oracle_low_precision(const Fold& fold, Operands operands) {
  const SlowFormat& format = slow_format(fold.type);
  std::vector<float> values;
  for (const std::uint64_t code : operands) {
    values.push_back(static_cast<float>(format.decode(static_cast<std::uint32_t>(code))));
  }
  float result = oracle_float<float>(fold, values);
  const bool average = fold.op == ReduceOp::avg && fold.finish;
  if (average && !std::isfinite(result) && all_finite<float>(values)) {
    result = oracle_single(fold, values);
  }
  return format.encode(result);
}

__extension__ using Wide = __int128;

inline Wide oracle_operand(DataType type, std::uint64_t bits) {
  switch (type) {
    case DataType::int8:
      return static_cast<std::int8_t>(bits);
    case DataType::uint8:
      return static_cast<std::uint8_t>(bits);
    case DataType::int32:
      return static_cast<std::int32_t>(bits);
    case DataType::uint32:
      return static_cast<std::uint32_t>(bits);
    case DataType::int64:
      return static_cast<std::int64_t>(bits);
    default:
      return bits;
  }
}

inline std::uint64_t oracle_integer(const Fold& fold, Operands operands) {
  const auto factor = size_of(fold.type) == 8
                          ? fold.scale_bits
                          : static_cast<std::uint64_t>(static_cast<std::int64_t>(fold.scale));
  Wide result = oracle_operand(fold.type, operands[0]);
  if (fold.op == ReduceOp::premulsum && fold.local == 0) {
    result = static_cast<std::int64_t>(static_cast<std::uint64_t>(result) * factor);
  }
  for (std::size_t i = 1; i < operands.size(); ++i) {
    const Wide operand = oracle_operand(fold.type, operands[i]);
    switch (fold.op) {
      case ReduceOp::prod:
        result = static_cast<std::int64_t>(static_cast<std::uint64_t>(result) *
                                           static_cast<std::uint64_t>(operand));
        break;
      case ReduceOp::max:
        result = std::max(result, operand);
        break;
      case ReduceOp::min:
        result = std::min(result, operand);
        break;
      case ReduceOp::premulsum:
        result += static_cast<int>(i) == fold.local
                      ? static_cast<std::int64_t>(static_cast<std::uint64_t>(operand) * factor)
                      : operand;
        break;
      default:
        result += operand;
    }
  }
  if (fold.op == ReduceOp::avg && fold.finish) result = result / fold.ranks;
  return static_cast<std::uint64_t>(result);  // the caller keeps the element's bytes
}

// The bits of the result, in the low size_of(fold.type) bytes.
inline std::uint64_t oracle(const Fold& fold, Operands operands) {
  if (!oracle_computes(fold, operands)) return operands[0];
  if (!is_float(fold.type)) return oracle_integer(fold, operands);
  if (is_low_precision(fold.type)) return oracle_low_precision(fold, operands);
  if (fold.type == DataType::float32) {
    std::vector<float> values;
    for (const std::uint64_t bits : operands) {
      values.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    const float result = oracle_single(fold, values);
    return std::isnan(result) ? 0x7fff'ffffu : std::bit_cast<std::uint32_t>(result);
  }
  std::vector<double> values;
  for (const std::uint64_t bits : operands) values.push_back(std::bit_cast<double>(bits));
  const double result = oracle_double(fold, values);
  return std::isnan(result) ? 0x7fff'ffff'ffff'ffffu : std::bit_cast<std::uint64_t>(result);
}

}  // namespace gyre::test
