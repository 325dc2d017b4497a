// Taking cache lines for writing before they are written.
//
// A line that a peer has read must come back before a store to it is done, which takes as long as a
// message; asked for early, it comes while something else is done. Measured with 2 ranks,
// of payloads: all-reduces of 4 KiB take 10 % less.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gyre {

inline constexpr std::size_t kCacheLine = 64;

// Hints only: no fault, no change of memory.
inline void claim_line([[maybe_unused]] const void* line) {
#if defined(__x86_64__)
  // __builtin_prefetch(line, 1) is a plain prefetch without -mprfchw; CPUs without the instruction
  // take it as a nop.
  asm volatile("prefetchw %0" : : "m"(*static_cast<const char*>(line)));
#endif
}

inline void claim_lines(const std::byte* begin, std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes; at += kCacheLine) claim_line(begin + at);
}

}  // namespace gyre
