#include "tests/collective/cost.hpp"

#include <sys/resource.h>

#include <cerrno>
#include <cstddef>

namespace {

thread_local bool counting = false;
thread_local std::uint64_t counted = 0;

void count() { counted += counting ? 1 : 0; }

std::uint64_t faults_so_far() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  return static_cast<std::uint64_t>(usage.ru_minflt + usage.ru_majflt);
}

}  // namespace

// glibc's own names for what is replaced here.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);

// The project hides its symbols; libraries must find these.
#pragma GCC visibility push(default)
void* malloc(std::size_t bytes) {
  count();
  return __libc_malloc(bytes);
}
void* calloc(std::size_t items, std::size_t bytes) {
  count();
  return __libc_calloc(items, bytes);
}
void* realloc(void* old, std::size_t bytes) {
  count();
  return __libc_realloc(old, bytes);
}
void* memalign(std::size_t alignment, std::size_t bytes) {
  count();
  return __libc_memalign(alignment, bytes);
}
void* aligned_alloc(std::size_t alignment, std::size_t bytes) { return memalign(alignment, bytes); }
int posix_memalign(void** memory, std::size_t alignment, std::size_t bytes) {
  *memory = memalign(alignment, bytes);
  return *memory != nullptr ? 0 : ENOMEM;
}
#pragma GCC visibility pop
}

namespace gyre::test {

CostMeter::CostMeter() : faults_before_(faults_so_far()) {
  counted = 0;
  counting = true;
}

Cost CostMeter::stop() {
  counting = false;
  return {counted, faults_so_far() - faults_before_};
}

}  // namespace gyre::test
