#include "bench/limits/memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
#include <utility>
#ifdef __x86_64__
#include <immintrin.h>
#endif

namespace gyre::limits {
namespace {

constexpr std::size_t kLine = 64;
constexpr std::size_t kLineFloats = kLine / sizeof(float);

// Whole cache lines, aligned.
struct Part {
  float* c;
  const float* a;
  const float* b;
  std::size_t floats;
};
using Kernel = void (*)(const Part&);

void copy(const Part& part) { std::memcpy(part.c, part.a, part.floats * sizeof(float)); }

void sum(const Part& part) {
  for (std::size_t i = 0; i < part.floats; ++i) part.c[i] = part.a[i] + part.b[i];
}

#ifdef __x86_64__
// Past the caches, so that c need not be read before it is written.
void copy_streaming(const Part& part) {
  for (std::size_t i = 0; i < part.floats; i += 4) {
    _mm_stream_ps(part.c + i, _mm_load_ps(part.a + i));
  }
  _mm_sfence();
}

void sum_streaming(const Part& part) {
  for (std::size_t i = 0; i < part.floats; i += 4) {
    _mm_stream_ps(part.c + i, _mm_add_ps(_mm_load_ps(part.a + i), _mm_load_ps(part.b + i)));
  }
  _mm_sfence();
}

[[gnu::target("avx512f")]] void sum_wide(const Part& part) {
  for (std::size_t i = 0; i < part.floats; i += kLineFloats) {
    _mm512_store_ps(part.c + i,
                    _mm512_add_ps(_mm512_load_ps(part.a + i), _mm512_load_ps(part.b + i)));
  }
}

constexpr Kernel kCopies[] = {copy, copy_streaming};
constexpr Kernel kSums[] = {sum, sum_streaming, sum_wide};
std::span<const Kernel> sums() {
  return std::span(kSums).first(__builtin_cpu_supports("avx512f") != 0 ? 3 : 2);
}
#else
constexpr Kernel kCopies[] = {copy};
constexpr Kernel kSums[] = {sum};
std::span<const Kernel> sums() { return kSums; }
#endif
std::span<const Kernel> copies() { return kCopies; }

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Array = std::unique_ptr<float, Free>;

Array make_array(std::size_t bytes) {
  constexpr std::size_t kHugePage = std::size_t{2} << 20;
  const std::size_t whole = (bytes + kHugePage - 1) / kHugePage * kHugePage;
  auto* memory = static_cast<float*>(std::aligned_alloc(kHugePage, whole));
  if (memory == nullptr) throw std::bad_alloc();
  ::madvise(memory, whole, MADV_HUGEPAGE);  // no page walks among what is timed
  std::memset(memory, 0, whole);
  return Array(memory);
}

// The repetitions of a kernel over arrays of `floats` in larger ones.
struct Walk {
  Part whole;
  std::size_t floats;
  std::size_t at(std::size_t repetition) const {
    return repetition % (whole.floats / floats) * floats;
  }
};

double measured(const Cores& cores, const Walk& walk, Kernel kernel, double seconds) {
  const std::size_t share = walk.floats / cores.size();
  const std::size_t bytes = walk.floats * sizeof(float);
  // As many repetitions as take longer than starting the threads together does.
  const std::size_t repetitions = std::max<std::size_t>(1, (std::size_t{8} << 20) / bytes);
  std::size_t first = 0;
  const auto body = [&](std::size_t side) {
    for (std::size_t i = 0; i < repetitions; ++i) {
      const std::size_t at = walk.at(first + i) + side * share;
      kernel({walk.whole.c + at, walk.whole.a + at, walk.whole.b + at, share});
      asm volatile("" ::: "memory");  // lest the compiler drop all but the last
    }
  };
  double best = 0;
  const double end = now() + seconds;
  do {
    const double taken = timed_together(cores, body);
    best = std::max(best, static_cast<double>(bytes * repetitions) / taken / 1e9);
    first += repetitions;
  } while (now() < end);
  return best;
}

}  // namespace

struct MemoryLimits::Arrays {
  explicit Arrays(std::size_t each)
      : a(make_array(each)), b(make_array(each)), c(make_array(each)), bytes(each) {}
  Array a, b, c;
  std::size_t bytes;
};

MemoryLimits::MemoryLimits(Cores cores, std::size_t span)
    : cores_(std::move(cores)),
      arrays_(std::make_unique<Arrays>(std::max(span, cores_.size() * kLine))) {}

MemoryLimits::~MemoryLimits() = default;

MemoryRate MemoryLimits::rate(std::size_t bytes, double seconds) const {
  // Equally many lines for each core, one at least.
  const std::size_t n = cores_.size();
  const std::size_t lines = std::min(bytes, arrays_->bytes) / kLine / n * n;
  const Walk walk{
      {arrays_->c.get(), arrays_->a.get(), arrays_->b.get(), arrays_->bytes / sizeof(float)},
      std::max(n, lines) * kLineFloats};
  MemoryRate result;
  for (const Kernel kernel : copies()) {
    result.copy_gbps = std::max(result.copy_gbps, measured(cores_, walk, kernel, seconds));
  }
  for (const Kernel kernel : sums()) {
    result.sum_gbps = std::max(result.sum_gbps, measured(cores_, walk, kernel, seconds));
  }
  return result;
}

}  // namespace gyre::limits
