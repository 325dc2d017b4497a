// Operands and SIMD targets for the tests of kernels/host.
#pragma once

#include <gtest/gtest.h>
#include <hwy/targets.h>

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels_oracle.hpp"

namespace gyre::test {

using Columns = std::vector<std::vector<std::uint64_t>>;  // [source][element], as bits

inline std::uint64_t encode(DataType type, double value) {
  switch (type) {
    case DataType::float32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    case DataType::float64:
      return std::bit_cast<std::uint64_t>(value);
    default:
      if (is_float(type)) return slow_format(type).encode(value);
      return static_cast<std::uint64_t>(static_cast<std::int64_t>(value));
  }
}

// A mix of special values, arbitrary bits (any exponent, any NaN) and values of the same magnitude.
inline std::uint64_t draw(DataType type, std::mt19937_64& random) {
  const std::uint64_t bits = random();
  const auto choice = random() % 8;
  if (choice < 2) return bits;
  if (choice == 2 && is_float(type)) {
    const double kLargest = std::numeric_limits<double>::max();
    const double kInfinity = std::numeric_limits<double>::infinity();
    const std::array<double, 10> special = {0.0,      -0.0,      kInfinity, -kInfinity, NAN,
                                            kLargest, -kLargest, 1.0,       -1.0,       65504};
    const double value = special[bits % special.size()];
    // Where infinity saturates this is the largest finite value; elsewhere go one code down.
    const std::uint64_t code = encode(type, value);
    return std::isinf(value) || std::fabs(value) < kLargest || type == DataType::float64 ? code
                                                                                         : code - 1;
  }
  if (choice == 3) return bits % 4;  // zero and the smallest subnormals
  const double small = static_cast<double>(static_cast<std::int64_t>(bits % 2001) - 1000) / 64;
  return encode(type, is_float(type) ? small : small * 64);
}

inline Columns draw_columns(DataType type, std::size_t sources, std::size_t count,
                            std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Columns columns(sources, std::vector<std::uint64_t>(count));
  for (auto& column : columns) {
    for (auto& element : column) element = draw(type, random);
  }
  return columns;
}

inline void put(DataType type, std::byte* to, std::uint64_t bits) {
  std::memcpy(to, &bits, size_of(type));  // little-endian: the low bytes are the element
}

inline std::vector<std::byte> pack(DataType type, std::span<const std::uint64_t> elements) {
  std::vector<std::byte> bytes(elements.size() * size_of(type));
  for (std::size_t i = 0; i < elements.size(); ++i) {
    put(type, bytes.data() + i * size_of(type), elements[i]);
  }
  return bytes;
}

inline std::vector<std::byte> expected(const Fold& fold, const Columns& columns) {
  std::vector<std::uint64_t> results;
  std::vector<std::uint64_t> operands(columns.size());
  for (std::size_t i = 0; i < columns[0].size(); ++i) {
    for (std::size_t s = 0; s < columns.size(); ++s) operands[s] = columns[s][i];
    results.push_back(oracle(fold, operands));
  }
  return pack(fold.type, results);
}

// Every operation of `type` over `sources` operands, averages with and without the last division.
inline std::vector<Fold> folds(DataType type, int sources) {
  std::vector<Fold> all;
  for (int op = 0; op < kReduceOps; ++op) {
    all.push_back({.type = type, .op = static_cast<ReduceOp>(op), .ranks = sources});
  }
  all.push_back({.type = type, .op = ReduceOp::avg, .ranks = sources, .finish = true});
  all.push_back({.type = type, .op = ReduceOp::avg, .ranks = 3 * sources, .finish = true});
  for (const int local : {0, sources - 1}) {
    all.push_back({.type = type,
                   .op = ReduceOp::premulsum,
                   .scale = is_float(type) ? 0.3 : -3,
                   .scale_bits = 0x1234'5678'9abc'def1u,
                   .local = local});
  }
  return all;
}

inline std::string describe(const Fold& fold, std::size_t sources, std::size_t count) {
  return std::string(name_of(fold.type)) + " " + std::string(name_of(fold.op)) +
         (fold.finish ? " finish" : "") + " local " + std::to_string(fold.local) + ", " +
         std::to_string(sources) + " sources of " + std::to_string(count);
}

inline constexpr std::array<DataType, kDataTypes> kAllTypes = {
    DataType::int8,    DataType::uint8,    DataType::int32,      DataType::uint32,
    DataType::int64,   DataType::uint64,   DataType::float16,    DataType::float32,
    DataType::float64, DataType::bfloat16, DataType::float8e4m3, DataType::float8e5m2};

// Runs the test with one SIMD target of this CPU (a target that is not built: with the baseline).
class OnTarget : public testing::TestWithParam<std::int64_t> {
 protected:
  void SetUp() override {
    hwy::SetSupportedTargetsForTest(GetParam());
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
  void TearDown() override {
    hwy::SetSupportedTargetsForTest(0);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  }
};

inline std::vector<std::int64_t> cpu_targets() {
  std::vector<std::int64_t> targets;
  const std::int64_t built = HWY_SCALAR | HWY_SSE4 | HWY_AVX2 | HWY_AVX3;
  for (std::int64_t left = (hwy::SupportedTargets() | HWY_SCALAR) & built; left != 0;
       left &= left - 1) {
    targets.push_back(left & -left);
  }
  return targets;
}

inline std::string target_name(const testing::TestParamInfo<std::int64_t>& info) {
  return hwy::TargetName(info.param);
}

}  // namespace gyre::test
