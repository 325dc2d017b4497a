// A counter that runs at a constant rate, for comparing short times with each other: reading it
// takes some ten nanoseconds and never a system call, which a clock may be on a virtual machine.
#pragma once

#include <cstdint>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include "base/clock.hpp"
#endif

namespace gyre {

using Ticks = std::uint64_t;

// In a unit of its own.
inline Ticks ticks_now() {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  Ticks now;
  asm volatile("mrs %0, cntvct_el0" : "=r"(now));
  return now;
#else
  return static_cast<Ticks>(Clock::now().time_since_epoch().count());
#endif
}

}  // namespace gyre
