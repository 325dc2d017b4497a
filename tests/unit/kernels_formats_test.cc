// The scalar conversions of kernels/host/formats.hpp, exhaustively one way and against a slow
// search of all values the other way.
#include <functional>

#include "kernels/host/formats.hpp"
#include "kernels_operands.hpp"

namespace gyre::test {
namespace {

struct Conversions {
  DataType type;
  std::function<std::uint32_t(float)> narrow;
  std::function<float(std::uint32_t)> widen;
};

std::vector<Conversions> all_conversions() {
  const auto code8 = [](std::uint32_t code) { return static_cast<std::uint8_t>(code); };
  const auto code16 = [](std::uint32_t code) { return static_cast<std::uint16_t>(code); };
  return {
      {DataType::float16, half_from_float, [=](auto c) { return float_from_half(code16(c)); }},
      {DataType::bfloat16, bfloat16_from_float,
       [=](auto c) { return float_from_bfloat16(code16(c)); }},
      {DataType::float8e4m3, float8e4m3_from_float,
       [=](auto c) { return float_from_float8e4m3(code8(c)); }},
      {DataType::float8e5m2, float8e5m2_from_float,
       [=](auto c) { return float_from_float8e5m2(code8(c)); }},
  };
}

TEST(Formats, EveryCodeWidensExactlyAndComesBack) {
  for (const auto& [type, narrow, widen] : all_conversions()) {
    const SlowFormat& slow = slow_format(type);
    const std::uint32_t codes = 1u << (8 * size_of(type));
    for (std::uint32_t code = 0; code < codes; ++code) {
      const float value = widen(code);
      if (slow.is_nan(code)) {
        ASSERT_TRUE(std::isnan(value)) << name_of(type) << " " << code;
        ASSERT_EQ(narrow(value), slow.nan());
        continue;
      }
      ASSERT_EQ(value, slow.decode(code)) << name_of(type) << " " << code;
      ASSERT_EQ(std::signbit(value), std::signbit(slow.decode(code)));
      ASSERT_EQ(narrow(value), code) << name_of(type);
    }
  }
}

// Every representable value, every midpoint between two, and their fp32 neighbours.
TEST(Formats, RoundsToNearestEvenAroundEveryMidpoint) {
  for (const auto& [type, narrow, widen] : all_conversions()) {
    const SlowFormat& slow = slow_format(type);
    const std::uint32_t codes = 1u << (8 * size_of(type) - 1);
    for (std::uint32_t code = 0; code + 1 < codes; ++code) {
      const double low = slow.decode(code);
      const double high = slow.decode(code + 1);
      if (!std::isfinite(low)) break;
      const double top = std::isfinite(high) ? high : low + (low - slow.decode(code - 1));
      const auto middle = static_cast<float>((low + top) / 2);
      for (const float value : {static_cast<float>(low), middle, std::nextafter(middle, 0.0F),
                                std::nextafter(middle, INFINITY)}) {
        ASSERT_EQ(narrow(value), slow.encode(value)) << name_of(type) << " " << value;
        ASSERT_EQ(narrow(-value), slow.encode(-value)) << name_of(type) << " " << -value;
      }
    }
  }
}

TEST(Formats, RoundsArbitraryBits) {
  std::mt19937 random(11);
  for (const auto& [type, narrow, widen] : all_conversions()) {
    const SlowFormat& slow = slow_format(type);
    for (int i = 0; i < 200000; ++i) {
      const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      ASSERT_EQ(narrow(value), slow.encode(value)) << name_of(type) << " " << value;
    }
  }
}

TEST(Formats, OverflowAndSpecialValues) {
  static_assert(half_from_float(1.0F) == 0x3c00);
  static_assert(half_from_float(65519.0F) == 0x7bff);
  static_assert(half_from_float(65520.0F) == 0x7c00);
  static_assert(bfloat16_from_float(3.4028235e38F) == 0x7f80);
  static_assert(float8e4m3_from_float(449.0F) == 0x7e);
  static_assert(float8e4m3_from_float(-1e30F) == 0xfe);
  static_assert(float8e5m2_from_float(1e30F) == 0x7b);
  EXPECT_EQ(float8e4m3_from_float(INFINITY), 0x7e);
  EXPECT_EQ(float8e4m3_from_float(NAN), 0x7f);
  EXPECT_EQ(float8e5m2_from_float(-INFINITY), 0xfc);
  EXPECT_EQ(float8e5m2_from_float(-NAN), 0x7f);
  EXPECT_EQ(half_from_float(-NAN), 0x7fff);
  EXPECT_EQ(half_from_float(-INFINITY), 0xfc00);
  EXPECT_EQ(float_from_float8e4m3(0x7e), 448.0F);
  EXPECT_EQ(float_from_float8e5m2(0x7b), 57344.0F);
  EXPECT_EQ(float_from_half(0x0001), std::ldexp(1.0F, -24));
  EXPECT_EQ(float_from_float8e4m3(0x01), std::ldexp(1.0F, -9));
  EXPECT_EQ(float_from_float8e5m2(0x01), std::ldexp(1.0F, -16));
}

}  // namespace
}  // namespace gyre::test
