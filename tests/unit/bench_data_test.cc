// The data of the *_perf checks: results must be exact in any order, and errors must be seen.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <vector>

#include "bench/harness/codec.hpp"
#include "bench/harness/compare.hpp"
#include "bench/harness/failure.hpp"
#include "bench/harness/inputs.hpp"
#include "bench/harness/pattern.hpp"
#include "bench/harness/periodic.hpp"
#include "bench/harness/stats.hpp"
#include "bench/harness/table.hpp"
#include "bench/harness/traffic.hpp"
#include "bench/harness/types.hpp"

namespace gyre::bench {
namespace {

constexpr std::size_t kCount = 1000;

std::uint64_t bits_at(const std::vector<std::byte>& data, std::size_t index, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, data.data() + index * size, size);
  return bits;
}

// Folds two floats with one rounding to the type, as the least precise library would.
std::uint64_t fold_float(FloatFormat format, int op, std::uint64_t a, std::uint64_t b) {
  const double x = decode(format, a);
  const double y = decode(format, b);
  if (op == ncclProd) return encode(format, x * y);
  if (op == ncclMax) return x > y ? a : b;
  if (op == ncclMin) return x < y ? a : b;
  return encode(format, x + y);
}

// Reduces one element over the ranks in the given order, every step rounded to the type.
std::uint64_t reduce_float(const TypeInfo& type, int op,
                           const std::vector<std::vector<std::byte>>& inputs,
                           const std::vector<int>& order, std::size_t index) {
  const FloatFormat format = format_of(type.value);
  std::uint64_t result = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const int rank = order[i];
    std::uint64_t bits = bits_at(inputs[static_cast<std::size_t>(rank)], index, type.size);
    if (op == kMulSum) bits = encode(format, decode(format, bits) * mulsum_factor(rank));
    result = i == 0 ? bits : fold_float(format, op, result, bits);
  }
  if (op == ncclAvg) {
    result = encode(format, decode(format, result) / static_cast<double>(order.size()));
  }
  return result;
}

class FloatReduction : public testing::TestWithParam<std::tuple<TypeInfo, OpInfo, int>> {};

TEST_P(FloatReduction, IsExactInEveryOrder) {
  const auto& [type, op, ranks] = GetParam();
  const ReductionData data(type.value, op.value, ranks, 7, true);
  std::vector<std::vector<std::byte>> inputs;
  for (int rank = 0; rank < ranks; ++rank) {
    inputs.emplace_back(kCount * type.size);
    data.input(inputs.back().data(), 0, kCount, rank);
  }
  std::vector<std::byte> expected(kCount * type.size);
  data.expected(expected.data(), 0, kCount);
  std::mt19937 shuffler(11);
  std::vector<int> order(static_cast<std::size_t>(ranks));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::byte> got(expected.size());
  for (int round = 0; round < 3; ++round) {
    for (std::size_t i = 0; i < kCount; ++i) {
      const std::uint64_t bits = reduce_float(type, op.value, inputs, order, i);
      std::memcpy(got.data() + i * type.size, &bits, type.size);
    }
    EXPECT_EQ(count_wrong(got.data(), expected.data(), kCount, type.value, op.value), 0);
    std::shuffle(order.begin(), order.end(), shuffler);
  }
}

std::vector<TypeInfo> float_types() {
  std::vector<TypeInfo> types;
  for (const TypeInfo& type : all_types()) {
    if (is_float(type.value)) types.push_back(type);
  }
  return types;
}

INSTANTIATE_TEST_SUITE_P(All, FloatReduction,
                         testing::Combine(testing::ValuesIn(float_types()),
                                          testing::ValuesIn(all_ops().begin(), all_ops().end()),
                                          testing::Values(1, 2, 3, 8, 13, 100)),
                         [](const auto& instance) {
                           return std::string(std::get<0>(instance.param).name) + "_" +
                                  std::string(std::get<1>(instance.param).name) + "_" +
                                  std::to_string(std::get<2>(instance.param));
                         });

TEST(BenchInputs, IntegerAveragesFitTheType) {
  for (const int ranks : {1, 3, 100, 1000}) {
    const ReductionData data(ncclInt8, ncclAvg, ranks, 5, true);
    std::vector<int> sums(kCount);
    std::vector<std::int8_t> input(kCount);
    for (int rank = 0; rank < ranks; ++rank) {
      data.input(input.data(), 0, kCount, rank);
      for (std::size_t i = 0; i < kCount; ++i) sums[i] += input[i];
    }
    std::vector<std::int8_t> expected(kCount);
    data.expected(expected.data(), 0, kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      ASSERT_LE(std::abs(sums[i]), 127);
      ASSERT_EQ(sums[i] / ranks, expected[i]) << ranks;
    }
  }
}

TEST(BenchInputs, PartsAgreeWithTheWhole) {
  const ReductionData data(ncclFloat32, ncclSum, 4, 3, true);
  std::vector<float> whole(100);
  std::vector<float> part(40);
  data.input(whole.data(), 0, 100, 2);
  data.input(part.data(), 30, 40, 2);
  EXPECT_EQ(std::memcmp(part.data(), whole.data() + 30, sizeof(float) * 40), 0);
}

TEST(BenchInputs, LongDataAgreesWithItsPartsAndDiffersAlongChunks) {
  const std::size_t count = 3 * kPeriod + 5;
  const ReductionData data(ncclInt32, ncclSum, 4, 3, true);
  std::vector<std::int32_t> whole(count);
  data.input(whole.data(), 0, count, 1);
  for (const std::size_t first : {kPeriod - 2, kPeriod, 2 * kPeriod + 7}) {
    std::vector<std::int32_t> part(100);
    data.input(part.data(), first, part.size(), 1);
    EXPECT_TRUE(
        std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(first)));
  }
  for (std::size_t chunk = 16; 2 * chunk <= count; chunk *= 2) {
    EXPECT_NE(std::memcmp(whole.data(), whole.data() + chunk, chunk * sizeof(whole[0])), 0)
        << chunk;
  }
}

TEST(BenchPattern, PartsAgreeWithTheWholeAtAnyOffset) {
  std::vector<std::byte> whole(200);
  fill_random(whole, 1, 2, 0);
  for (std::size_t offset = 0; offset < 20; ++offset) {
    std::vector<std::byte> part(51);
    fill_random(part, 1, 2, offset);
    EXPECT_TRUE(
        std::equal(part.begin(), part.end(), whole.begin() + static_cast<std::ptrdiff_t>(offset)));
  }
  std::vector<std::byte> other(200);
  fill_random(other, 1, 3, 0);
  EXPECT_NE(whole, other);
}

TEST(BenchCompare, SeesEveryWrongElement) {
  std::vector<float> want{1, 2, 3, 4};
  std::vector<float> got = want;
  EXPECT_EQ(count_wrong(got.data(), want.data(), 4, ncclFloat32, ncclSum), 0);
  got[1] = std::nextafter(got[1], 9.0F);
  got[3] = std::nanf("");
  EXPECT_EQ(count_wrong(got.data(), want.data(), 4, ncclFloat32, ncclSum), 2);
  // Averages may be off by two units in the last place, but not by three, and never NaN.
  EXPECT_EQ(count_wrong(got.data(), want.data(), 4, ncclFloat32, ncclAvg), 1);
  for (int i = 0; i < 2; ++i) got[1] = std::nextafter(got[1], 9.0F);
  EXPECT_EQ(count_wrong(got.data(), want.data(), 4, ncclFloat32, ncclAvg), 2);
}

TEST(BenchStats, AreThoseOfAKnownSample) {
  std::vector<double> times(100);
  std::iota(times.begin(), times.end(), 1.0);
  const IterStats stats = iteration_stats(times);
  EXPECT_EQ(stats.min, 1);
  EXPECT_EQ(stats.max, 100);
  EXPECT_EQ(stats.p95, 95);
  EXPECT_EQ(stats.p99, 99);
  EXPECT_DOUBLE_EQ(stats.mean, 50.5);
  EXPECT_NEAR(stats.stdev, 28.866, 1e-3);
  EXPECT_EQ(iteration_stats(std::vector<double>{3}).p99, 3);
}

TEST(BenchTable, NumbersFitTheirColumns) {
  EXPECT_EQ(fit_number(1.234, 6), "  1.23");
  EXPECT_EQ(fit_number(123456.7, 7), " 123457");
  EXPECT_EQ(fit_number(12345.67, 7), "12345.7");
  EXPECT_LE(fit_number(1.5e12, 7).size(), 7U);
}

TEST(BenchTraffic, MatrixIsReadStrictly) {
  const TrafficMatrix matrix = parse_traffic("100 200\n 50\t17\n", 2);
  EXPECT_EQ(matrix.size, 2U);
  EXPECT_EQ(matrix.at(0, 1), 400U);
  EXPECT_EQ(matrix.at(0, 0), 192U);  // 200, down to a multiple of 16
  for (const char* bad : {"", "1 2\n3\n", "1 2\n", "1 x\n2 3\n", "1 -2\n3 4\n", "1e300 1\n1 1\n"}) {
    EXPECT_THROW(parse_traffic(bad, 1), Failure) << bad;
  }
}

TEST(BenchTraffic, GeneratedPatternIsBalanced) {
  const Traffic weighted = Traffic::generated(1);
  EXPECT_EQ(weighted.bytes(0, 0, 4, 1 << 20), 0U);
  EXPECT_LT(weighted.bytes(0, 1, 4, 1 << 20), weighted.bytes(0, 3, 4, 1 << 20));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(weighted.sent(rank, 4, 1 << 20), weighted.received(rank, 4, 1 << 20));
  }
  const Traffic even = Traffic::generated(0);
  EXPECT_EQ(even.bytes(2, 2, 4, 1 << 20), even.bytes(2, 3, 4, 1 << 20));
}

}  // namespace
}  // namespace gyre::bench
