#include "bench/harness/compare.hpp"

#include <cmath>
#include <cstring>

#include "bench/harness/codec.hpp"
#include "bench/harness/types.hpp"

namespace gyre::bench {
namespace {

constexpr double kAverageTolerance = 2;  // units in the last place

std::uint64_t load(const std::byte* from, std::size_t size) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, from, size);
  return bits;
}

bool near(FloatFormat format, std::uint64_t got, std::uint64_t want) {
  const double a = decode(format, got);
  const double b = decode(format, want);
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  const double larger = std::max(std::fabs(a), std::fabs(b));
  const int exponent =
      larger == 0 ? format.min_exponent() : std::max(std::ilogb(larger), format.min_exponent());
  return std::fabs(a - b) <= kAverageTolerance * power_of_two(exponent - format.mantissa_bits);
}

}  // namespace

std::int64_t count_wrong(const void* got, const void* want, std::size_t count, ncclDataType_t type,
                         int op) {
  const std::size_t size = type_info(type).size;
  if (count == 0 || std::memcmp(got, want, count * size) == 0) return 0;
  const bool tolerant = op == ncclAvg && is_float(type);
  const auto* a = static_cast<const std::byte*>(got);
  const auto* b = static_cast<const std::byte*>(want);
  std::int64_t wrong = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t x = load(a + i * size, size);
    const std::uint64_t y = load(b + i * size, size);
    if (x != y && !(tolerant && near(format_of(type), x, y))) ++wrong;
  }
  return wrong;
}

}  // namespace gyre::bench
