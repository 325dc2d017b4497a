// Found before kernels/device/portable.cuh: the same words for a device whose blocks are threads of
// the operating system, and whose threads take turns there (tests/emulated/block.hpp).
#pragma once

#include <chrono>
#include <cstdint>

#include "kernels/host/formats.hpp"
#include "tests/emulated/block.hpp"

// The vendors' words. What lies in shared memory is the block's, hence its thread's.
#define __global__
#define __device__
#define __forceinline__ inline
#define __noinline__  // the C++ library says it too, between the parentheses of an attribute
#define __shared__ static thread_local
#define __launch_bounds__(...)
#define GYRE_CONSTANT
#define GYRE_ON_HIP 0

using gyre::emulated::blockDim;
using gyre::emulated::blockIdx;
using gyre::emulated::threadIdx;

inline void __syncthreads() { gyre::emulated::wait_for_block(); }
inline void __syncwarp() { gyre::emulated::wait_for_warp(); }

struct alignas(16) uint4 {
  std::uint32_t x, y, z, w;
};
constexpr uint4 make_uint4(std::uint32_t x, std::uint32_t y, std::uint32_t z, std::uint32_t w) {
  return {x, y, z, w};
}

namespace gyre::device {

template <class T>
T* global(T* pointer) {
  return pointer;
}
template <class T>
T* shared(T* pointer) {
  return pointer;
}

inline std::uint64_t load_acquire_system(const std::uint64_t* from) {
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}
inline void store_release_system(std::uint64_t* to, std::uint64_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}
inline std::uint64_t load_acquire_device(const std::uint64_t* from) {
  return __atomic_load_n(from, __ATOMIC_ACQUIRE);
}
inline void store_release_device(std::uint64_t* to, std::uint64_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELEASE);
}
inline std::uint32_t load_relaxed_system(const std::uint32_t* from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}
inline std::uint64_t load_relaxed_system(const std::uint64_t* from) {
  return __atomic_load_n(from, __ATOMIC_RELAXED);
}
inline void store_relaxed_system(std::uint32_t* to, std::uint32_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELAXED);
}
inline void store_relaxed_system(std::uint64_t* to, std::uint64_t value) {
  __atomic_store_n(to, value, __ATOMIC_RELAXED);
}
inline std::uint32_t exchange_system(std::uint32_t* at, std::uint32_t value) {
  return __atomic_exchange_n(at, value, __ATOMIC_ACQ_REL);
}
inline std::uint32_t count_device(std::uint32_t* at) {
  return __atomic_fetch_add(at, 1U, __ATOMIC_ACQ_REL);
}
inline void fence_system() { __atomic_thread_fence(__ATOMIC_ACQ_REL); }

// Each half by itself, as on HIP: nobody may count on more.
inline uint4 load_line(const uint4* from) {
  const auto* halves = reinterpret_cast<const std::uint64_t*>(from);
  const std::uint64_t low = load_relaxed_system(halves);
  const std::uint64_t high = load_relaxed_system(halves + 1);
  return {static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
          static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32)};
}
inline void store_line(uint4* to, uint4 line) {
  auto* halves = reinterpret_cast<std::uint64_t*>(to);
  store_relaxed_system(halves, std::uint64_t{line.y} << 32 | line.x);
  store_relaxed_system(halves + 1, std::uint64_t{line.w} << 32 | line.z);
}

inline std::uint64_t nanoseconds() {
  const auto now = std::chrono::steady_clock::now().time_since_epoch();
  return static_cast<std::uint64_t>(std::chrono::nanoseconds(now).count());
}

inline void look_in_vain() { gyre::emulated::let_others_run(); }

inline std::uint32_t leading(bool yes) {
  __shared__ bool votes[32];
  votes[threadIdx.x] = yes;
  __syncwarp();
  std::uint32_t count = 0;
  while (count < 32 && votes[count]) ++count;
  __syncwarp();
  return count;
}

// Compiled without contraction.
template <class T>
T rounded_sum(T a, T b) {
  return a + b;
}
template <class T>
T rounded_product(T a, T b) {
  return a * b;
}
template <class T>
T rounded_quotient(T a, T b) {
  return a / b;
}

inline float widen_half(std::uint16_t code) { return float_from_half(code); }
inline std::uint16_t narrow_half(float value) { return half_from_float(value); }

inline constexpr bool kConvertsFloat8 = false;
inline float widen_e4m3(std::uint8_t) { return 0; }
inline std::uint8_t narrow_e4m3(float) { return 0; }
inline std::uint8_t narrow_e5m2(float) { return 0; }

}  // namespace gyre::device
