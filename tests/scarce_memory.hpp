// Memory that runs out on demand. It replaces the program's allocation functions, so exactly one
// source of a program includes it.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <limits>
#include <new>

namespace gyre::test {

inline constexpr std::size_t kNoLimit = std::numeric_limits<std::size_t>::max();
// The largest block that this thread still gets; 0: none.
inline thread_local std::size_t largest_block = kNoLimit;

}  // namespace gyre::test

// Not inlined: gcc takes malloc and free for mismatched where it sees one of them alone.
[[gnu::noinline]] void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return bytes > gyre::test::largest_block ? nullptr : std::malloc(bytes);
}
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  void* const memory = operator new(bytes, std::nothrow);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
