// The promises of gyre::fold that have a number in them: averages at the edge of a type's range,
// NaN and zeros under max and min, wrapping, single rounding, copies.
#include "kernels_operands.hpp"

namespace gyre::test {
namespace {

class Rules : public OnTarget {};

// The fold of one column of values; more elements than a vector has, all with the same operands.
double fold_values(const Fold& fold, std::span<const double> values) {
  constexpr std::size_t kCount = 67;
  std::vector<std::vector<std::byte>> packed;
  std::vector<const std::byte*> sources;
  for (const double value : values) {
    packed.push_back(pack(fold.type, std::vector(kCount, encode(fold.type, value))));
  }
  for (const auto& source : packed) sources.push_back(source.data());
  std::vector<std::byte> target(kCount * size_of(fold.type));
  gyre::fold(fold, target.data(), sources, kCount);
  std::uint64_t first = 0;
  std::memcpy(&first, target.data(), size_of(fold.type));
  EXPECT_EQ(target, pack(fold.type, std::vector(kCount, first)));
  if (fold.type == DataType::float64) return std::bit_cast<double>(first);
  if (fold.type == DataType::float32) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(first));
  }
  if (is_float(fold.type)) return slow_format(fold.type).decode(static_cast<std::uint32_t>(first));
  return static_cast<double>(oracle_operand(fold.type, first));
}

Fold average_of(DataType type, int ranks) {
  return {.type = type, .op = ReduceOp::avg, .ranks = ranks, .finish = true};
}

TEST_P(Rules, AverageOfLargeValuesIsFinite) {
  const std::vector<double> large(10, 60000.0);
  EXPECT_EQ(fold_values(average_of(DataType::float16, 10), large), 60000.0);
  EXPECT_EQ(fold_values(average_of(DataType::float8e5m2, 10), std::vector(10, 57344.0)), 57344.0);
  EXPECT_EQ(fold_values(average_of(DataType::float8e4m3, 10), std::vector(10, 448.0)), 448.0);
  const double largest32 = std::numeric_limits<float>::max();
  EXPECT_EQ(fold_values(average_of(DataType::float32, 10), std::vector(10, largest32)), largest32);
  const double largest16 = slow_format(DataType::bfloat16).decode(0x7f7f);
  EXPECT_EQ(fold_values(average_of(DataType::bfloat16, 10), std::vector(10, largest16)), largest16);
  const double largest64 = std::numeric_limits<double>::max();
  EXPECT_EQ(fold_values(average_of(DataType::float64, 8), std::vector(8, largest64)), largest64);
  EXPECT_DOUBLE_EQ(fold_values(average_of(DataType::float64, 10), std::vector(10, -1e308)), -1e308);
  // The sum overflows halfway and would not come back.
  const std::vector<double> around = {largest64, largest64, -largest64, -largest64, 8.0};
  EXPECT_EQ(fold_values(average_of(DataType::float64, 5), around), 0.0 + 8.0 / 5);
}

TEST_P(Rules, AverageOfSmallestSubnormalsIsExact) {
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float8e4m3,
                              DataType::float8e5m2, DataType::float32, DataType::float64}) {
    double smallest = std::numeric_limits<double>::denorm_min();
    if (type == DataType::float32) smallest = std::numeric_limits<float>::denorm_min();
    if (is_low_precision(type)) smallest = slow_format(type).decode(1);
    EXPECT_EQ(fold_values(average_of(type, 10), std::vector(10, smallest)), smallest)
        << name_of(type);
  }
}

TEST_P(Rules, AverageKeepsInfinitiesAndNan) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  for (const DataType type : {DataType::float16, DataType::bfloat16, DataType::float8e5m2,
                              DataType::float32, DataType::float64}) {
    const Fold average = average_of(type, 3);
    EXPECT_EQ(fold_values(average, std::vector{1.0, kInfinity, 2.0}), kInfinity) << name_of(type);
    EXPECT_TRUE(std::isnan(fold_values(average, std::vector{kInfinity, -kInfinity, 2.0})));
    EXPECT_TRUE(std::isnan(fold_values(average, std::vector<double>{1.0, NAN, 2.0})));
  }
}

TEST_P(Rules, IntegerAverageTruncatesTowardZeroAndNeverWraps) {
  EXPECT_EQ(fold_values(average_of(DataType::int8, 3), std::vector{127.0, 127.0, 126.0}), 126);
  EXPECT_EQ(fold_values(average_of(DataType::int8, 3), std::vector{-128.0, -128.0, -127.0}), -127);
  EXPECT_EQ(fold_values(average_of(DataType::uint8, 2), std::vector{255.0, 254.0}), 254);
  EXPECT_EQ(fold_values(average_of(DataType::int32, 2), std::vector{-1.0, -2.0}), -1);
  const double big = 9007199254740992.0 * 512;  // 2^62: two of them do not fit in int64
  EXPECT_EQ(fold_values(average_of(DataType::int64, 2), std::vector{big, big}), big);
}

TEST_P(Rules, SumWraps) {
  const Fold sum8{.type = DataType::int8};
  EXPECT_EQ(fold_values(sum8, std::vector{127.0, 1.0}), -128);
  const Fold product{.type = DataType::uint32, .op = ReduceOp::prod};
  EXPECT_EQ(fold_values(product, std::vector{65536.0, 65537.0}), 65536);
}

TEST_P(Rules, NanWinsInEveryPosition) {
  for (const DataType type : kAllTypes) {
    if (!is_float(type)) continue;
    for (const ReduceOp op : {ReduceOp::max, ReduceOp::min}) {
      for (std::size_t position = 0; position < 3; ++position) {
        std::vector<double> values = {-1.0, 2.0, 0.5};
        values[position] = NAN;
        EXPECT_TRUE(std::isnan(fold_values({.type = type, .op = op}, values))) << name_of(type);
      }
    }
  }
}

TEST_P(Rules, ZerosAreOrderedBySign) {
  for (const DataType type : kAllTypes) {
    if (!is_float(type)) continue;
    for (const bool swapped : {false, true}) {
      const std::vector<double> zeros = {swapped ? 0.0 : -0.0, swapped ? -0.0 : 0.0};
      EXPECT_FALSE(std::signbit(fold_values({.type = type, .op = ReduceOp::max}, zeros)));
      EXPECT_TRUE(std::signbit(fold_values({.type = type, .op = ReduceOp::min}, zeros)));
    }
  }
}

// 2048 + 1 is a tie in fp16: rounding after each addition would lose both ones.
TEST_P(Rules, LowPrecisionRoundsOnce) {
  EXPECT_EQ(fold_values({.type = DataType::float16}, std::vector{2048.0, 1.0, 1.0}), 2050.0);
  EXPECT_EQ(fold_values({.type = DataType::bfloat16}, std::vector{256.0, 1.0, 1.0}), 258.0);
  EXPECT_EQ(fold_values({.type = DataType::float8e4m3}, std::vector{400.0, 400.0, -400.0}), 384.0);
}

// A fused multiply-add would keep the product's low bits and give another sum.
TEST_P(Rules, ScaledOperandIsRoundedBeforeTheSum) {
  const double value = 1 + std::ldexp(1.0, -12);
  const Fold fold{.type = DataType::float32, .op = ReduceOp::premulsum, .scale = value, .local = 1};
  const float rounded = static_cast<float>(value * value);
  EXPECT_EQ(fold_values(fold, std::vector{-1.0, value}), rounded - 1.0F);
  EXPECT_NE(rounded, value * value);
}

TEST_P(Rules, SingleSourceIsCopiedBitForBit) {
  const std::uint32_t signalling = 0xff80'0001u;
  std::uint32_t result = 0;
  const auto* source = reinterpret_cast<const std::byte*>(&signalling);
  gyre::fold({.type = DataType::float32, .op = ReduceOp::max},
             reinterpret_cast<std::byte*>(&result), std::span(&source, 1), 1);
  EXPECT_EQ(result, signalling);
}

TEST(Copy, MovesBytesAndAcceptsTheSamePlace) {
  std::array<std::byte, 5> from = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{4}};
  std::array<std::byte, 5> to{};
  gyre::copy(to.data(), from.data(), 3);
  EXPECT_EQ(to, (std::array<std::byte, 5>{std::byte{1}, std::byte{2}, std::byte{3}}));
  gyre::copy(from.data(), from.data(), from.size());
  gyre::copy(nullptr, nullptr, 0);
  EXPECT_EQ(from[3], std::byte{4});
}

TEST_P(Rules, CopyMovesEveryLengthAtEveryAlignment) {
  std::mt19937_64 random(3);
  for (const std::size_t bytes : {1u, 15u, 2047u, 2048u, 2049u, 4099u, 65537u, 1u << 20}) {
    for (const std::size_t offset : {0u, 1u, 16u, 31u}) {
      std::vector<std::byte> from(bytes + offset);
      for (auto& byte : from) byte = static_cast<std::byte>(random());
      std::vector<std::byte> to(bytes + 2, std::byte{0xa5});
      gyre::copy(to.data() + 1, from.data() + offset, bytes);
      ASSERT_EQ(to.front(), std::byte{0xa5});
      ASSERT_EQ(to.back(), std::byte{0xa5});
      ASSERT_EQ(std::memcmp(to.data() + 1, from.data() + offset, bytes), 0) << bytes;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, Rules, testing::ValuesIn(cpu_targets()), target_name);

}  // namespace
}  // namespace gyre::test
