#include "tests/collective/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

namespace gyre::test {
namespace {

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

template <typename T>
std::uint64_t bits_of(T value) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

std::uint64_t encoded(double value, ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return encode(value, 5, 10);
    case ncclBfloat16:
      return encode(value, 8, 7);
    case ncclFloat8e4m3:
      return encode(value, 4, 3);
    case ncclFloat8e5m2:
      return encode(value, 5, 2);
    case ncclFloat32:
      return bits_of(static_cast<float>(value));
    case ncclFloat64:
      return bits_of(value);
    default:  // the integers: two's complement, cut to their size by the caller
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// Three random bits for each element, cut from one draw for every 16 of them: the generator is then
// no dearer than the copies it checks.
void draw(std::uint64_t seed, int rank, std::uint64_t first, std::span<Value> out) {
  constexpr std::uint64_t kEach = 16;
  const std::uint64_t stream = mix(seed * 64 + static_cast<std::uint64_t>(rank));
  std::uint64_t index = first;
  for (std::size_t i = 0; i < out.size();) {
    std::uint64_t bits = mix(stream ^ (index / kEach)) >> (index % kEach * 4);
    const std::uint64_t whole = std::min<std::uint64_t>(kEach - index % kEach, out.size() - i);
    for (std::uint64_t k = 0; k < whole; ++k, bits >>= 4) {
      out[i + k] = static_cast<Value>(bits & 7);
    }
    i += whole;
    index += whole;
  }
}

bool is_unsigned(ncclDataType_t type) {
  return type == ncclUint8 || type == ncclUint32 || type == ncclUint64;
}

template <typename Word>
void store_words(std::span<const Value> from, ncclDataType_t type, std::byte* at) {
  constexpr int kLowest = std::numeric_limits<Value>::min();
  std::array<Word, 256> table;
  for (int i = 0; i < 256; ++i) {
    table[static_cast<std::size_t>(i)] =
        static_cast<Word>(encoded(static_cast<Value>(i + kLowest), type));
  }
  for (std::size_t i = 0; i < from.size(); ++i) {
    std::memcpy(at + i * sizeof(Word), &table[static_cast<std::size_t>(from[i] - kLowest)],
                sizeof(Word));
  }
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

void values(const Source& source, int rank, std::uint64_t first, std::span<Value> out) {
  draw(source.seed, rank, first, out);
  // value = low + step * (random % range)
  int range = 2, step = 1, low = 0;
  switch (source.op) {
    case Op::sum:  // at most 8 ranks: sums to 8 are exact even with the two mantissa bits of e5m2
      break;
    case Op::premulsum:
      if (rank >= 4) range = 1;
      break;
    case Op::prod:  // at most 32
      low = 1;
      if (rank >= 5) range = 1;
      break;
    case Op::avg:
      step = source.world;
      break;
    case Op::max:
    case Op::min:
      range = 8;
      low = is_unsigned(source.type) ? 0 : -4;
      break;
  }
  for (Value& value : out) value = static_cast<Value>(low + step * (value & (range - 1)));
}

void reduced(const Source& source, std::uint64_t first, std::span<Value> out) {
  std::fill(out.begin(), out.end(), Value{0});
  std::vector<Value> contribution(out.size());
  for (int rank = 0; rank < source.world; ++rank) {
    values(source, rank, first, contribution);
    const int factor = source.op == Op::premulsum ? factor_of(rank) : 1;
    for (std::size_t i = 0; i < out.size(); ++i) {
      const int value = contribution[i] * factor;
      int result = out[i];
      if (rank == 0) {
        result = value;
      } else if (source.op == Op::prod) {
        result *= value;
      } else if (source.op == Op::max) {
        result = std::max(result, value);
      } else if (source.op == Op::min) {
        result = std::min(result, value);
      } else {
        result += value;
      }
      out[i] = static_cast<Value>(result);
    }
  }
  if (source.op == Op::avg) {
    for (Value& value : out) value = static_cast<Value>(value / source.world);
  }
}

void store(double number, ncclDataType_t type, std::byte* at) {
  const std::uint64_t bits = encoded(number, type);
  std::memcpy(at, &bits, size_of(type));
}

void store(std::span<const Value> from, ncclDataType_t type, std::byte* at) {
  switch (size_of(type)) {
    case 1:
      return store_words<std::uint8_t>(from, type, at);
    case 2:
      return store_words<std::uint16_t>(from, type, at);
    case 4:
      return store_words<std::uint32_t>(from, type, at);
    default:
      return store_words<std::uint64_t>(from, type, at);
  }
}

}  // namespace gyre::test
