// Every type, operation, number of sources, length and alignment of gyre::fold against the oracle,
// for each SIMD target, and the bytes around the operands.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "kernels_operands.hpp"

namespace gyre::test {
namespace {

constexpr std::array<int, 5> kSourceCounts = {1, 2, 3, 5, 8};
constexpr std::size_t kLongest = 70;
constexpr std::byte kGuard{0xa5};
constexpr std::size_t kMargin = 64;

class Reduce : public OnTarget {};

// A buffer of guard bytes with `bytes` bytes of room at kMargin + offset.
class Guarded {
 public:
  Guarded(std::size_t bytes, std::size_t offset)
      : storage_(bytes + offset + 2 * kMargin, kGuard), begin_(kMargin + offset), bytes_(bytes) {}

  std::byte* data() { return storage_.data() + begin_; }
  void fill(std::span<const std::byte> from) { std::copy_n(from.begin(), bytes_, data()); }
  void wipe() { std::fill_n(data(), bytes_, kGuard); }
  bool holds(std::span<const std::byte> want) {
    return std::equal(data(), data() + bytes_, want.begin());
  }
  bool intact() const {
    const auto guard = [](std::byte b) { return b == kGuard; };
    const auto end = storage_.begin() + static_cast<std::ptrdiff_t>(begin_ + bytes_);
    return std::all_of(storage_.begin(), storage_.begin() + static_cast<std::ptrdiff_t>(begin_),
                       guard) &&
           std::all_of(end, storage_.end(), guard);
  }

 private:
  std::vector<std::byte> storage_;
  std::size_t begin_;
  std::size_t bytes_;
};

std::vector<const std::byte*> pointers_of(std::vector<Guarded>& buffers) {
  std::vector<const std::byte*> pointers;
  for (Guarded& buffer : buffers) pointers.push_back(buffer.data());
  return pointers;
}

// One fold with sources and target at different alignments derived from `offset`; then in place.
void check_at(const Fold& fold, std::span<const std::vector<std::byte>> packed,
              std::span<const std::byte> want, std::size_t count, std::size_t offset,
              bool in_place) {
  const std::size_t bytes = count * size_of(fold.type);
  std::vector<Guarded> sources;
  for (std::size_t s = 0; s < packed.size(); ++s) {
    sources.emplace_back(bytes, (offset + 3 * s) % 16);
    sources.back().fill(packed[s]);
  }
  const auto pointers = pointers_of(sources);
  Guarded target(bytes, (offset + 7) % 16);
  gyre::fold(fold, target.data(), pointers, count);
  ASSERT_TRUE(target.holds(want)) << describe(fold, packed.size(), count) << " at " << offset;
  ASSERT_TRUE(target.intact()) << describe(fold, packed.size(), count) << " at " << offset;
  for (std::size_t s = 0; s < packed.size(); ++s) {
    ASSERT_TRUE(sources[s].holds(packed[s]) && sources[s].intact());
  }
  if (!in_place) return;
  for (std::size_t s = 0; s < packed.size(); ++s) {
    gyre::fold(fold, sources[s].data(), pointers, count);
    ASSERT_TRUE(sources[s].holds(want))
        << describe(fold, packed.size(), count) << " in place of source " << s;
    ASSERT_TRUE(sources[s].intact());
    sources[s].fill(packed[s]);
  }
}

std::vector<std::vector<std::byte>> pack_all(DataType type, const Columns& columns) {
  std::vector<std::vector<std::byte>> packed;
  for (const auto& column : columns) packed.push_back(pack(type, column));
  return packed;
}

TEST_P(Reduce, EveryLengthAndAlignment) {
  for (const DataType type : kAllTypes) {
    for (const int sources : kSourceCounts) {
      const Columns columns = draw_columns(type, static_cast<std::size_t>(sources), kLongest,
                                           static_cast<std::uint64_t>(sources));
      const auto packed = pack_all(type, columns);
      for (const Fold& fold : folds(type, sources)) {
        const auto want = expected(fold, columns);
        for (std::size_t count = 0; count <= kLongest; ++count) {
          for (std::size_t offset = 0; offset < 16; ++offset) {
            check_at(fold, packed, want, count, offset, offset == count % 16);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

TEST_P(Reduce, LongOddLengths) {
  for (const DataType type : kAllTypes) {
    for (const int sources : {2, 3}) {
      for (const std::size_t count : {257u, 1031u, 4099u}) {
        const Columns columns = draw_columns(type, static_cast<std::size_t>(sources), count, count);
        const auto packed = pack_all(type, columns);
        for (const Fold& fold : folds(type, sources)) {
          const auto want = expected(fold, columns);
          for (std::size_t offset = 0; offset < 16; ++offset) {
            check_at(fold, packed, want, count, offset, offset % 5 == count % 5);
            if (HasFatalFailure()) return;
          }
        }
      }
    }
  }
}

// One readable page between two that fault.
class FencedPage {
 public:
  FencedPage() : size_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))) {
    void* map = mmap(nullptr, 3 * size_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (map == MAP_FAILED) throw std::bad_alloc();
    base_ = static_cast<std::byte*>(map);
    if (mprotect(begin(), size_, PROT_READ | PROT_WRITE) != 0) throw std::bad_alloc();
  }
  ~FencedPage() { munmap(base_, 3 * size_); }
  FencedPage(const FencedPage&) = delete;
  FencedPage& operator=(const FencedPage&) = delete;

  std::byte* begin() { return base_ + size_; }
  std::byte* at_end(std::size_t bytes) { return begin() + size_ - bytes; }

 private:
  std::size_t size_;
  std::byte* base_ = nullptr;
};

TEST_P(Reduce, StaysInsideItsPages) {
  constexpr std::size_t kSources = 3;
  std::array<FencedPage, kSources + 1> pages;
  for (const DataType type : kAllTypes) {
    const Columns columns = draw_columns(type, kSources, kLongest, 77);
    const auto packed = pack_all(type, columns);
    for (const Fold& fold : folds(type, kSources)) {
      const auto want = expected(fold, columns);
      for (std::size_t count = 0; count <= kLongest; ++count) {
        const std::size_t bytes = count * size_of(type);
        for (const bool at_end : {false, true}) {
          const auto place = [&](std::size_t i) {
            return at_end ? pages[i].at_end(bytes) : pages[i].begin();
          };
          std::array<const std::byte*, kSources> sources{};
          for (std::size_t s = 0; s < kSources; ++s) {
            std::copy_n(packed[s].begin(), bytes, place(s));
            sources[s] = place(s);
          }
          gyre::fold(fold, place(kSources), sources, count);
          ASSERT_TRUE(std::equal(place(kSources), place(kSources) + bytes, want.begin()))
              << describe(fold, kSources, count);
        }
      }
    }
  }
}

// All pairs of fp8 codes, and every fp16 and bf16 code with many partners, under every operation.
TEST_P(Reduce, EveryCodeOfTheSmallFormats) {
  std::mt19937_64 random(5);
  for (const DataType type :
       {DataType::float8e4m3, DataType::float8e5m2, DataType::float16, DataType::bfloat16}) {
    const std::size_t codes = std::size_t{1} << (8 * size_of(type));
    const std::size_t partners = codes == 256 ? 256 : 4;
    Columns columns(2);
    for (std::size_t partner = 0; partner < partners; ++partner) {
      for (std::size_t code = 0; code < codes; ++code) {
        columns[0].push_back(code);
        columns[1].push_back(codes == 256 ? partner : draw(type, random) % codes);
      }
    }
    const auto packed = pack_all(type, columns);
    const std::array<const std::byte*, 2> sources = {packed[0].data(), packed[1].data()};
    std::vector<std::byte> target(packed[0].size());
    for (const Fold& fold : folds(type, 2)) {
      gyre::fold(fold, target.data(), sources, columns[0].size());
      ASSERT_EQ(target, expected(fold, columns)) << describe(fold, 2, columns[0].size());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Simd, Reduce, testing::ValuesIn(cpu_targets()), target_name);

}  // namespace
}  // namespace gyre::test
