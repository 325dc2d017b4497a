#include "bench/limits/memory.hpp"

#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <span>
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

constexpr Kernel kSums[] = {sum, sum_streaming, sum_wide};
std::span<const Kernel> sums() {
  return std::span(kSums).first(__builtin_cpu_supports("avx512f") != 0 ? 3 : 2);
}
#else
constexpr Kernel kSums[] = {sum};
std::span<const Kernel> sums() { return kSums; }
#endif

struct Free {
  void operator()(float* memory) const { std::free(memory); }
};
using Array = std::unique_ptr<float, Free>;

Array make_array(std::size_t floats) {
  auto* memory = static_cast<float*>(std::aligned_alloc(kLine, floats * sizeof(float)));
  if (memory == nullptr) throw std::bad_alloc();
  std::memset(memory, 0, floats * sizeof(float));
  return Array(memory);
}

double rate(const Cores& cores, const Part& whole, Kernel kernel, double seconds) {
  const std::size_t share = whole.floats / cores.size();
  const std::size_t bytes = whole.floats * sizeof(float);
  // As many repetitions as take longer than starting the threads together does.
  const std::size_t repetitions = std::max<std::size_t>(1, (std::size_t{8} << 20) / bytes);
  const auto body = [&](std::size_t side) {
    const std::size_t at = side * share;
    const Part part{whole.c + at, whole.a + at, whole.b + at, share};
    for (std::size_t i = 0; i < repetitions; ++i) {
      kernel(part);
      asm volatile("" ::: "memory");  // lest the compiler drop all but the last
    }
  };
  double best = 0;
  const double end = now() + seconds;
  do {
    const double taken = timed_together(cores, body);
    best = std::max(best, static_cast<double>(bytes * repetitions) / taken / 1e9);
  } while (now() < end);
  return best;
}

}  // namespace

MemoryRate memory_rate(const Cores& cores, std::size_t bytes, double seconds) {
  // Equally many lines for each core, one at least.
  const std::size_t n = cores.size();
  const std::size_t floats = std::max(n, bytes / kLine / n * n) * kLineFloats;
  const Array a = make_array(floats);
  const Array b = make_array(floats);
  const Array c = make_array(floats);
  const Part whole{c.get(), a.get(), b.get(), floats};
  MemoryRate result;
  result.copy_gbps = rate(cores, whole, copy, seconds);
  for (const Kernel kernel : sums()) {
    result.sum_gbps = std::max(result.sum_gbps, rate(cores, whole, kernel, seconds));
  }
  return result;
}

}  // namespace gyre::limits
