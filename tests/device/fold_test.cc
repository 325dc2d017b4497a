// Every type, operation, number of sources, length and alignment of a block's fold, on a GPU, byte
// for byte against gyre::fold, with the bytes around the operands.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "kernels/host/reduce.hpp"
#include "tests/device/fold_kernels.hpp"
#include "tests/unit/kernels_operands.hpp"

namespace gyre::device_test {
namespace {

using test::Columns;
using test::kAllTypes;

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kMargin = 64;
constexpr std::size_t kArenaBytes = std::size_t{8} << 20;
constexpr std::size_t kShortest = 71;           // lengths below this are all tried
constexpr std::size_t kLongBytes = 100 * 1024;  // several rounds of a block, of any kind
constexpr std::array<int, 4> kSourceCounts = {1, 2, 3, 8};

enum class Places { spread, element_aligned, shared_offset };
constexpr std::array kAllPlaces = {Places::spread, Places::element_aligned, Places::shared_offset};

// Where the results go: in_place replaces the last target by a source.
struct Targets {
  std::size_t count = 1;
  bool in_place = false;
};
constexpr std::array<Targets, 4> kAllTargets = {{{1, false}, {1, true}, {3, false}, {3, true}}};

// Bytes by which buffer `i` is off a boundary of 16.
std::size_t offset_of(Places places, std::size_t i, std::size_t shift, std::size_t element_bytes) {
  switch (places) {
    case Places::spread:
      return (shift + 3 * i) % 16;
    case Places::element_aligned:
      return (shift + i) * element_bytes % 16;
    case Places::shared_offset:
      break;
  }
  return shift % 16;
}

// Buffers one behind the other, each between guard bytes, on the host and at the same offsets on
// the device.
class Arena {
 public:
  explicit Arena(std::byte* device) : device_(device) {}

  std::size_t add(std::size_t bytes, std::size_t offset) {
    const std::size_t begin = (image_.size() + 15) / 16 * 16 + kMargin + offset;
    image_.resize(begin + bytes + kMargin, kGuard);
    return begin;
  }
  std::byte* host(std::size_t begin) { return image_.data() + begin; }
  std::byte* device(std::size_t begin) const { return device_ + begin; }
  const std::vector<std::byte>& image() const { return image_; }

 private:
  std::byte* device_;
  std::vector<std::byte> image_;
};

class FoldTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const Problem problem = find_device()) GTEST_SKIP() << "no GPU answers: " << problem;
    ASSERT_EQ(allocate(&device_, kArenaBytes), nullptr);
  }
  void TearDown() override {
    if (device_ != nullptr) release(device_);
  }

  // Folds the first `count` elements of each of `packed`.
  void check(const Fold& fold, std::span<const std::vector<std::byte>> packed, std::size_t count,
             Places places, std::size_t shift, Targets targets) {
    const std::size_t size = size_of(fold.type);
    const std::size_t bytes = count * size;
    Arena arena(device_);
    std::vector<std::size_t> sources;
    for (std::size_t s = 0; s < packed.size(); ++s) {
      sources.push_back(arena.add(bytes, offset_of(places, s, shift, size)));
      std::copy_n(packed[s].begin(), bytes, arena.host(sources.back()));
    }
    std::vector<std::size_t> results;
    for (std::size_t t = 0; t < targets.count; ++t) {
      results.push_back(arena.add(bytes, offset_of(places, t + 5, shift, size)));
    }
    if (targets.in_place) results.back() = sources[count % sources.size()];
    const std::string what = test::describe(fold, packed.size(), count) + ", places " +
                             std::to_string(static_cast<int>(places)) + " shifted by " +
                             std::to_string(shift) + ", " + std::to_string(targets.count) +
                             " targets" + (targets.in_place ? " in place" : "");
    run(arena, fold, sources, results, count, what);
  }

  void check_all_places(const Fold& fold, std::span<const std::vector<std::byte>> packed,
                        std::size_t count) {
    for (const Places places : kAllPlaces) {
      for (const Targets targets : kAllTargets) {
        const std::size_t shift = places == Places::shared_offset && count % 2 == 0
                                      ? count / 2 * size_of(fold.type)
                                      : count;
        check(fold, packed, count, places, shift, targets);
        if (HasFatalFailure()) return;
      }
    }
  }

 private:
  void run(Arena& arena, const Fold& fold, std::span<const std::size_t> sources,
           std::span<const std::size_t> results, std::size_t count, const std::string& what) {
    device::FoldTask task{};
    std::vector<const std::byte*> operands;
    for (const std::size_t source : sources) {
      task.sources[task.source_count++] = arena.device(source);
      operands.push_back(arena.host(source));
    }
    for (const std::size_t result : results) {
      task.targets[task.target_count++] = arena.device(result);
    }
    task.elements = count;
    task.stripes = 1;
    task.element_bytes = static_cast<std::uint32_t>(size_of(fold.type));
    task.fold = fold;
    ASSERT_LE(arena.image().size(), kArenaBytes);
    ASSERT_EQ(upload(device_, arena.image().data(), arena.image().size()), nullptr) << what;
    const bool computes = sources.size() > 1 || (fold.op == ReduceOp::avg && fold.finish) ||
                          (fold.op == ReduceOp::premulsum && fold.local >= 0);
    const Problem problem = fold_on_device(task, fold.type, !computes);
    ASSERT_EQ(problem, nullptr) << what << ": " << problem;
    std::vector<std::byte> got(arena.image().size());
    ASSERT_EQ(download(got.data(), device_, got.size()), nullptr) << what;

    std::vector<std::byte> want(count * size_of(fold.type));
    gyre::fold(fold, want.data(), operands, count);
    for (const std::size_t result : results) {
      std::copy(want.begin(), want.end(), arena.host(result));
    }
    if (got == arena.image()) return;
    const auto differing = std::mismatch(got.begin(), got.end(), arena.image().begin());
    FAIL() << what << ": byte " << differing.first - got.begin() << " is "
           << std::to_integer<int>(*differing.first) << ", not "
           << std::to_integer<int>(*differing.second) << "; the first target begins at "
           << results[0];
  }

  std::byte* device_ = nullptr;
};

std::vector<std::vector<std::byte>> pack_all(DataType type, const Columns& columns) {
  std::vector<std::vector<std::byte>> packed;
  for (const auto& column : columns) packed.push_back(test::pack(type, column));
  return packed;
}

// The host tests' folds, and divisors and factors at the edge of their ranges.
std::vector<Fold> folds(DataType type, int sources) {
  std::vector<Fold> all = test::folds(type, sources);
  all.push_back({.type = type, .op = ReduceOp::avg, .ranks = 1, .finish = true});
  for (const double scale : {-1e30, 1099511627781.0, std::nan("")}) {
    all.push_back({.type = type,
                   .op = ReduceOp::premulsum,
                   .scale = scale,
                   .scale_bits = ~std::uint64_t{0},
                   .local = sources / 2});
  }
  return all;
}

TEST_F(FoldTest, EveryShortLength) {
  for (const DataType type : kAllTypes) {
    for (const int sources : kSourceCounts) {
      const auto packed =
          pack_all(type, test::draw_columns(type, static_cast<std::size_t>(sources), kShortest,
                                            static_cast<std::uint64_t>(sources)));
      for (const Fold& fold : folds(type, sources)) {
        for (std::size_t count = 0; count < kShortest; ++count) {
          check_all_places(fold, packed, count);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// The head, the packs and the tail at every offset from a boundary.
TEST_F(FoldTest, EveryAlignment) {
  for (const DataType type : kAllTypes) {
    for (const int sources : {1, 2, 3}) {
      const auto packed =
          pack_all(type, test::draw_columns(type, static_cast<std::size_t>(sources), kShortest, 9));
      const Fold fold = {.type = type, .ranks = sources};
      for (std::size_t count = 0; count < kShortest; ++count) {
        for (std::size_t shift = 0; shift < 16; ++shift) {
          for (const Places places : kAllPlaces) {
            check(fold, packed, count, places, shift, kAllTargets[shift % kAllTargets.size()]);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_F(FoldTest, LongOddLengths) {
  for (const DataType type : kAllTypes) {
    for (const int sources : kSourceCounts) {
      const std::size_t rounds = kLongBytes / size_of(type) + 5;
      for (const std::size_t count : {std::size_t{4096 + 7}, rounds}) {
        const auto packed = pack_all(
            type, test::draw_columns(type, static_cast<std::size_t>(sources), count, count));
        for (const Fold& fold : folds(type, sources)) {
          check_all_places(fold, packed, count);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

// All pairs of 8-bit codes, and all 16-bit codes, each with an arbitrary third.
TEST_F(FoldTest, EveryCodeOfTheSmallTypes) {
  std::mt19937_64 random(5);
  for (const DataType type : kAllTypes) {
    if (size_of(type) > 2) continue;
    Columns columns(3);
    for (std::uint64_t code = 0; code < 65536; ++code) {
      const bool pairs = size_of(type) == 1;
      columns[0].push_back(pairs ? code % 256 : code);
      columns[1].push_back(pairs ? code / 256 : test::draw(type, random));
      columns[2].push_back(test::draw(type, random));
    }
    const auto packed = pack_all(type, columns);
    for (const std::size_t sources : {1u, 2u, 3u}) {
      for (const Fold& fold : folds(type, static_cast<int>(sources))) {
        check(fold, std::span(packed).first(sources), 65536, Places::shared_offset, 0, {});
        if (HasFatalFailure()) return;
      }
    }
  }
}

int mantissa_bits(DataType type) {
  switch (type) {
    case DataType::float16:
      return 10;
    case DataType::float32:
      return 23;
    case DataType::float64:
      return 52;
    case DataType::bfloat16:
      return 7;
    case DataType::float8e4m3:
      return 3;
    default:
      return 2;
  }
}

// Finite floats whose exponents are among the three largest, or the three smallest (that is, with
// subnormals), with any sign and mantissa.
std::uint64_t draw_extreme(DataType type, bool huge, std::mt19937_64& random) {
  const int mantissa = mantissa_bits(type);
  const int bits = static_cast<int>(8 * size_of(type));
  const std::uint64_t exponents = std::uint64_t{1} << (bits - 1 - mantissa);
  const std::uint64_t step = random() % 3;
  const std::uint64_t exponent = huge ? exponents - 2 - step : step;
  const std::uint64_t sign = random() % 4 == 0 ? 1 : 0;  // mostly equal, so that sums grow
  const std::uint64_t fraction = random() % (std::uint64_t{1} << mantissa);
  return sign << (bits - 1) | exponent << mantissa | fraction;
}

// Averages whose sums overflow, products that overflow and underflow, subnormal results.
TEST_F(FoldTest, EdgesOfTheExponent) {
  constexpr std::size_t kCount = 5000;
  for (const DataType type : kAllTypes) {
    if (!is_float(type)) continue;
    for (const bool huge : {false, true}) {
      std::mt19937_64 random(huge ? 11 : 12);
      Columns columns(8);
      for (auto& column : columns) {
        for (std::size_t i = 0; i < kCount; ++i) {
          const bool other = i % 7 == 0;
          column.push_back(draw_extreme(type, huge != other, random));
        }
      }
      const auto packed = pack_all(type, columns);
      for (const int sources : kSourceCounts) {
        for (const Fold& fold : folds(type, sources)) {
          check_all_places(fold, std::span(packed).first(static_cast<std::size_t>(sources)),
                           kCount);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

}  // namespace
}  // namespace gyre::device_test
