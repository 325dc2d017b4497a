#include "bench/harness/inputs.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "bench/harness/codec.hpp"
#include "bench/harness/periodic.hpp"
#include "bench/harness/random.hpp"
#include "bench/harness/types.hpp"

namespace gyre::bench {
namespace {

// Who is active for one element, and its random bits.
struct Draw {
  std::uint64_t bits;
  int ranks;
  int active;
  int first;

  Draw(std::uint64_t seed, std::uint64_t index, int ranks_in, int most)
      : bits(random_at(seed, index)), ranks(ranks_in), active(std::min(ranks_in, most)) {
    first = static_cast<int>(bounded(bits, static_cast<std::uint64_t>(ranks)));
  }

  // Place of `rank` among the active ones, or -1.
  int place(int rank) const {
    const int behind = rank - first;
    const int place = behind < 0 ? behind + ranks : behind;
    return place < active ? place : -1;
  }
  int rank_at(int place) const { return (first + place) % ranks; }
  std::uint64_t bits_of(int place) const {
    return mix(bits + static_cast<std::uint64_t>(place + 1) * kGolden);
  }
  bool is_full(int place) const { return place == 0; }
};

// ---- integers: T is the type of the elements -------------------------------------------------

template <typename T>
struct Integers {
  using Bits = std::make_unsigned_t<T>;
  static constexpr int kMostActive = 64;
  int op;

  static T neutral(int op) {
    if (op == ncclProd) return 1;
    if (op == ncclMax) return std::numeric_limits<T>::min();
    if (op == ncclMin) return std::numeric_limits<T>::max();
    return 0;
  }

  T value(const Draw& draw, int place) const {
    const auto bits = static_cast<Bits>(draw.bits_of(place));
    if (op == ncclProd) return static_cast<T>(draw.is_full(place) ? bits : Bits(bits | 1U));
    if (op != ncclAvg) return static_cast<T>(bits);
    const auto bound = static_cast<std::uint64_t>(std::numeric_limits<T>::max()) /
                       static_cast<std::uint64_t>(draw.active);
    const auto magnitude = static_cast<T>(bounded(draw.bits_of(place), bound + 1));
    if constexpr (std::is_signed_v<T>) {
      if ((bits & 1U) != 0) return static_cast<T>(-magnitude);
    }
    return magnitude;
  }

  T input(const Draw& draw, int rank) const {
    const int place = draw.place(rank);
    return place < 0 ? neutral(op) : value(draw, place);
  }

  T fold(T a, T b, int rank) const {
    const auto x = static_cast<std::uint64_t>(a);
    const auto y = static_cast<std::uint64_t>(b);
    if (op == ncclProd) return static_cast<T>(x * y);
    if (op == ncclMax) return std::max(a, b);
    if (op == ncclMin) return std::min(a, b);
    const int factor = op == kMulSum ? mulsum_factor(rank) : 1;
    return static_cast<T>(x + y * static_cast<std::uint64_t>(factor));
  }

  T expected(const Draw& draw) const {
    T result = neutral(op);
    for (int place = 0; place < draw.active; ++place) {
      result = fold(result, value(draw, place), draw.rank_at(place));
    }
    if (op != ncclAvg) return result;
    // Divide in 64 bits: the number of ranks need not fit the type.
    using Wide = std::conditional_t<std::is_signed_v<T>, std::int64_t, std::uint64_t>;
    return static_cast<T>(static_cast<Wide>(result) / static_cast<Wide>(draw.ranks));
  }
};

// ---- floats: values are computed in double, where all of them are exact ----------------------

template <ncclDataType_t kType>
struct Floats {
  static constexpr FloatFormat kFormat = format_of(kType);
  // So few that each gets at least two values even when a factor 2 takes one bit.
  static constexpr int kMostActive = kFormat.precision() <= 4 ? (kFormat.precision() == 3 ? 4 : 8)
                                     : kFormat.precision() <= 11 ? 16
                                                                 : 64;
  int op;
  bool denormals;

  int most_active() const {
    if (op == ncclAvg) return 2;
    return op == ncclProd ? 4 : kMostActive;
  }

  // Largest integer that an active rank holds.
  std::int64_t weight(int active) const {
    const std::int64_t budget = std::int64_t{1} << kFormat.precision();
    return std::max<std::int64_t>(1, budget / active / (op == kMulSum ? 2 : 1));
  }

  int unit_exponent(const Draw& draw) const {
    const std::uint64_t bits = mix(draw.bits ^ 0x5851f42d4c957f2dULL);
    if (denormals && (bits & 15) == 0) return kFormat.tiny_exponent();
    const int high = std::min(8, kFormat.max_exponent - kFormat.precision() - 1);
    const int low = std::max(-40, kFormat.min_exponent());
    return low + static_cast<int>(bounded(bits, static_cast<std::uint64_t>(high - low + 1)));
  }

  std::int64_t signed_weight(const Draw& draw, int place) const {
    const std::int64_t most = weight(draw.active);
    return static_cast<std::int64_t>(
               bounded(draw.bits_of(place), static_cast<std::uint64_t>(2 * most + 1))) -
           most;
  }

  double product_factor(const Draw& draw, int place) const {
    const std::uint64_t bits = draw.bits_of(place);
    const int reach =
        std::min(16, (std::min(kFormat.max_exponent, -kFormat.min_exponent()) - 1) / draw.active);
    const int exponent =
        static_cast<int>(bounded(bits, static_cast<std::uint64_t>(2 * reach + 1))) - reach;
    double value = power_of_two(exponent);
    if (draw.is_full(place)) {
      const std::uint64_t fraction = bits & ((std::uint64_t{1} << kFormat.mantissa_bits) - 1);
      value *= 1 + static_cast<double>(fraction) * power_of_two(-kFormat.mantissa_bits);
    }
    return (mix(bits) & 1) != 0 ? -value : value;
  }

  // The one value that the active ranks of an average share: full mantissa, far from both ends.
  double average_value(const Draw& draw) const {
    const std::uint64_t bits = draw.bits_of(0);
    const std::uint64_t fraction = bits & ((std::uint64_t{1} << kFormat.mantissa_bits) - 1);
    const int high = std::min(8, kFormat.max_exponent - 2);
    const int exponent = high - static_cast<int>(bounded(bits, 4));
    const double value =
        (1 + static_cast<double>(fraction) * power_of_two(-kFormat.mantissa_bits)) *
        power_of_two(exponent);
    return (mix(bits) & 1) != 0 ? -value : value;
  }

  // Beyond every value that an active rank holds, and finite.
  double extreme() const { return power_of_two(kFormat.max_exponent); }

  double input(const Draw& draw, int rank) const {
    const int place = draw.place(rank);
    if (op == ncclProd) return place < 0 ? 1 : product_factor(draw, place);
    if (op == ncclMax && place < 0) return -extreme();
    if (op == ncclMin && place < 0) return extreme();
    if (place < 0) return 0;
    if (op == ncclAvg) return average_value(draw);
    return static_cast<double>(signed_weight(draw, place)) * power_of_two(unit_exponent(draw));
  }

  double expected(const Draw& draw) const {
    if (op == ncclAvg) {
      return average_value(draw) * static_cast<double>(draw.active) /
             static_cast<double>(draw.ranks);
    }
    if (op == ncclProd) {
      double product = 1;
      for (int place = 0; place < draw.active; ++place) product *= product_factor(draw, place);
      return product;
    }
    std::int64_t total = signed_weight(draw, 0) * factor_of(draw, 0);
    for (int place = 1; place < draw.active; ++place) {
      const std::int64_t next = signed_weight(draw, place) * factor_of(draw, place);
      if (op == ncclMax) {
        total = std::max(total, next);
      } else if (op == ncclMin) {
        total = std::min(total, next);
      } else {
        total += next;
      }
    }
    return static_cast<double>(total) * power_of_two(unit_exponent(draw));
  }

  int factor_of(const Draw& draw, int place) const {
    return op == kMulSum ? mulsum_factor(draw.rank_at(place)) : 1;
  }
};

template <typename T>
void store(std::byte* to, std::size_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

template <ncclDataType_t kType>
void store_float(std::byte* to, std::size_t index, double value) {
  constexpr FloatFormat kFormat = format_of(kType);
  const std::uint64_t bits = encode(kFormat, value);
  if constexpr (kFormat.bits() == 8) {
    store(to, index, static_cast<std::uint8_t>(bits));
  } else if constexpr (kFormat.bits() == 16) {
    store(to, index, static_cast<std::uint16_t>(bits));
  } else if constexpr (kFormat.bits() == 32) {
    store(to, index, static_cast<std::uint32_t>(bits));
  } else {
    store(to, index, bits);
  }
}

// A range of elements to write: one rank's input, or (rank < 0) the result.
struct Range {
  std::byte* to;
  std::size_t first;
  std::size_t count;
  int rank;
};

template <typename T>
void write_integers(const Range& range, int op, int ranks, std::uint64_t seed) {
  const Integers<T> data{op};
  for (std::size_t i = 0; i < range.count; ++i) {
    const Draw draw(seed, range.first + i, ranks, Integers<T>::kMostActive);
    store(range.to, i, range.rank < 0 ? data.expected(draw) : data.input(draw, range.rank));
  }
}

template <ncclDataType_t kType>
void write_floats(const Range& range, int op, int ranks, std::uint64_t seed, bool denormals) {
  const Floats<kType> data{op, denormals};
  for (std::size_t i = 0; i < range.count; ++i) {
    const Draw draw(seed, range.first + i, ranks, data.most_active());
    store_float<kType>(range.to, i,
                       range.rank < 0 ? data.expected(draw) : data.input(draw, range.rank));
  }
}

void write(const Range& range, ncclDataType_t type, int op, int ranks, std::uint64_t seed,
           bool denormals) {
  switch (type) {
    case ncclInt8:
      return write_integers<std::int8_t>(range, op, ranks, seed);
    case ncclUint8:
      return write_integers<std::uint8_t>(range, op, ranks, seed);
    case ncclInt32:
      return write_integers<std::int32_t>(range, op, ranks, seed);
    case ncclUint32:
      return write_integers<std::uint32_t>(range, op, ranks, seed);
    case ncclInt64:
      return write_integers<std::int64_t>(range, op, ranks, seed);
    case ncclUint64:
      return write_integers<std::uint64_t>(range, op, ranks, seed);
    case ncclFloat16:
      return write_floats<ncclFloat16>(range, op, ranks, seed, denormals);
    case ncclFloat32:
      return write_floats<ncclFloat32>(range, op, ranks, seed, denormals);
    case ncclFloat64:
      return write_floats<ncclFloat64>(range, op, ranks, seed, denormals);
    case ncclBfloat16:
      return write_floats<ncclBfloat16>(range, op, ranks, seed, denormals);
    case ncclFloat8e4m3:
      return write_floats<ncclFloat8e4m3>(range, op, ranks, seed, denormals);
    case ncclFloat8e5m2:
      return write_floats<ncclFloat8e5m2>(range, op, ranks, seed, denormals);
    default:
      return;
  }
}

}  // namespace

void ReductionData::fill(void* to, std::size_t first, std::size_t count, int rank) const {
  fill_periodic(static_cast<std::byte*>(to), first, count, type_info(type_).size,
                [&](std::byte* part, std::size_t from, std::size_t elements) {
                  write({part, from, elements, rank}, type_, op_, ranks_, seed_, denormals_);
                });
}

void ReductionData::input(void* to, std::size_t first, std::size_t count, int rank) const {
  fill(to, first, count, rank);
}

void ReductionData::expected(void* to, std::size_t first, std::size_t count) const {
  fill(to, first, count, -1);
}

void write_mulsum_factor(void* to, ncclDataType_t type, int rank) {
  std::uint64_t bits = static_cast<std::uint64_t>(mulsum_factor(rank));
  if (is_float(type)) bits = encode(format_of(type), static_cast<double>(bits));
  std::memcpy(to, &bits, type_info(type).size);
}

}  // namespace gyre::bench
