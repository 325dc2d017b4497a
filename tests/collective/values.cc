#include "tests/collective/values.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gyre::test {
namespace {

template <typename T>
void put(std::byte* at, T value) {
  std::memcpy(at, &value, sizeof value);
}

// Encodes an exactly representable number: sign, exponent, mantissa by frexp; no rounding happens.
std::uint32_t encode(double value, int exponent_bits, int mantissa_bits) {
  const std::uint32_t sign = std::signbit(value) ? 1U : 0U;
  std::uint32_t code = 0;
  if (value != 0) {
    int exponent = 0;
    const double fraction = std::frexp(std::fabs(value), &exponent);  // in [0.5, 1)
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const auto mantissa =
        static_cast<std::uint32_t>((fraction * 2 - 1) * static_cast<double>(1 << mantissa_bits));
    code = static_cast<std::uint32_t>(exponent - 1 + bias) << mantissa_bits | mantissa;
  }
  return sign << (exponent_bits + mantissa_bits) | code;
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

bool is_unsigned(ncclDataType_t type) {
  return type == ncclUint8 || type == ncclUint32 || type == ncclUint64;
}

}  // namespace

std::size_t size_of(ncclDataType_t type) {
  constexpr std::size_t kSizes[kTypes] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  return kSizes[type];
}

const char* name_of(ncclDataType_t type) {
  constexpr const char* kNames[kTypes] = {"int8", "uint8", "int32",  "uint32",   "int64", "uint64",
                                          "half", "float", "double", "bfloat16", "e4m3",  "e5m2"};
  return kNames[type];
}

const char* name_of(Op op) {
  constexpr const char* kNames[kOps] = {"sum", "prod", "max", "min", "avg", "premulsum"};
  return kNames[static_cast<int>(op)];
}

int factor_of(int rank) { return rank % 2 == 0 ? 1 : 2; }

int value_at(std::uint64_t seed, int rank, std::uint64_t index, ncclDataType_t type, Op op,
             int world) {
  const std::uint64_t random = mix(seed ^ mix(index * 64 + static_cast<std::uint64_t>(rank)));
  switch (op) {
    // At most 8 ranks: sums to 8 are exact even with the two mantissa bits of e5m2.
    case Op::sum:
      return static_cast<int>(random % 2);
    case Op::premulsum:
      return world <= 4 ? static_cast<int>(random % 2)
                        : (rank < 4 ? static_cast<int>(random % 2) : 0);
    case Op::prod:
      return rank < 5 ? 1 + static_cast<int>(random % 2) : 1;  // at most 32
    case Op::avg:
      return world * static_cast<int>(random % 2);
    case Op::max:
    case Op::min: {
      const int small = static_cast<int>(random % 8);
      return is_unsigned(type) ? small : small - 4;
    }
  }
  return 0;
}

void store(std::byte* at, ncclDataType_t type, double value) {
  switch (type) {
    case ncclInt8:
      return put(at, static_cast<std::int8_t>(value));
    case ncclUint8:
      return put(at, static_cast<std::uint8_t>(value));
    case ncclInt32:
      return put(at, static_cast<std::int32_t>(value));
    case ncclUint32:
      return put(at, static_cast<std::uint32_t>(value));
    case ncclInt64:
      return put(at, static_cast<std::int64_t>(value));
    case ncclUint64:
      return put(at, static_cast<std::uint64_t>(value));
    case ncclFloat16:
      return put(at, static_cast<std::uint16_t>(encode(value, 5, 10)));
    case ncclBfloat16:
      return put(at, static_cast<std::uint16_t>(encode(value, 8, 7)));
    case ncclFloat8e4m3:
      return put(at, static_cast<std::uint8_t>(encode(value, 4, 3)));
    case ncclFloat8e5m2:
      return put(at, static_cast<std::uint8_t>(encode(value, 5, 2)));
    case ncclFloat32:
      return put(at, static_cast<float>(value));
    default:
      return put(at, value);
  }
}

double reduced(std::uint64_t seed, std::uint64_t index, ncclDataType_t type, Op op, int world) {
  double result = 0;
  for (int rank = 0; rank < world; ++rank) {
    double value = value_at(seed, rank, index, type, op, world);
    if (op == Op::premulsum) value *= factor_of(rank);
    if (rank == 0) {
      result = value;
    } else if (op == Op::prod) {
      result *= value;
    } else if (op == Op::max) {
      result = std::max(result, value);
    } else if (op == Op::min) {
      result = std::min(result, value);
    } else {
      result += value;
    }
  }
  return op == Op::avg ? result / world : result;
}

}  // namespace gyre::test
