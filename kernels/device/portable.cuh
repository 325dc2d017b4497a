// All that CUDA and HIP spell differently in device code. Nothing else of Gyre's kernels asks which
// of the two compiles it.
//
// Compile without contraction and without flushing subnormals: nvcc -fmad=false (its other
// defaults are right), clang -ffp-contract=off.
#pragma once

#include <cstdint>

#if defined(__HIPCC__)
#include <hip/hip_runtime.h>
#define GYRE_ON_HIP 1
#else
#include <cuda_runtime.h>
#define GYRE_ON_HIP 0
#endif

// A kernel's argument that stays in constant memory, also where its address is taken.
#if GYRE_ON_HIP
#define GYRE_CONSTANT
#else
#define GYRE_CONSTANT __grid_constant__
#endif

namespace gyre::device {

// Tells the compiler that `pointer` is not to shared or thread-private memory, which it otherwise
// finds out anew at every access.
template <class T>
__device__ __forceinline__ T* global(T* pointer) {
#if !GYRE_ON_HIP
  __builtin_assume(__isGlobal(pointer));
#endif
  return pointer;
}

// Likewise for what lies in shared memory, where a function that is not inlined cannot see it.
template <class T>
__device__ __forceinline__ T* shared(T* pointer) {
#if !GYRE_ON_HIP
  __builtin_assume(__isShared(pointer));
#endif
  return pointer;
}

// Accesses that other processors (system) or other blocks of this one (device) make at the same
// time. An acquire is the moment from which on what was written before the matching release is
// seen; relaxed accesses order nothing.
#if GYRE_ON_HIP

__device__ __forceinline__ std::uint64_t load_acquire_system(const std::uint64_t* from) {
  return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ __forceinline__ void store_release_system(std::uint64_t* to, std::uint64_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ __forceinline__ std::uint64_t load_acquire_device(const std::uint64_t* from) {
  return __hip_atomic_load(from, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ void store_release_device(std::uint64_t* to, std::uint64_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
}
__device__ __forceinline__ std::uint32_t load_relaxed_system(const std::uint32_t* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ __forceinline__ std::uint64_t load_relaxed_system(const std::uint64_t* from) {
  return __hip_atomic_load(from, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ __forceinline__ void store_relaxed_system(std::uint32_t* to, std::uint32_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
__device__ __forceinline__ void store_relaxed_system(std::uint64_t* to, std::uint64_t value) {
  __hip_atomic_store(to, value, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM);
}
// Both an acquire and a release.
__device__ __forceinline__ std::uint32_t exchange_system(std::uint32_t* at, std::uint32_t value) {
  return __hip_atomic_exchange(at, value, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_SYSTEM);
}
// Adds 1, and gives what was there before. Both an acquire and a release.
__device__ __forceinline__ std::uint32_t count_device(std::uint32_t* at) {
  return __hip_atomic_fetch_add(at, 1U, __ATOMIC_ACQ_REL, __HIP_MEMORY_SCOPE_AGENT);
}
// Both an acquire and a release, for the relaxed accesses before and after it.
__device__ __forceinline__ void fence_system() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, ""); }

// A clock that stands still for nobody, in nanoseconds from an arbitrary moment. AMD's ticks at
// 100 MHz on every chip with a matrix unit.
__device__ __forceinline__ std::uint64_t nanoseconds() {
  return static_cast<std::uint64_t>(__builtin_readsteadycounter()) * 10;
}

// CUDA's word: the threads of a warp that call it wait for each other, and then see what the others
// wrote. Older HIP has none; its wavefronts hold one warp of ours or two.
__device__ __forceinline__ void __syncwarp() {
  __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "wavefront");
  __builtin_amdgcn_wave_barrier();
}

// A line is two pairs of a word and its flag, each of which arrives whole.
__device__ __forceinline__ uint4 load_line(const uint4* from) {
  const auto* halves = reinterpret_cast<const std::uint64_t*>(from);
  const std::uint64_t low = load_relaxed_system(halves);
  const std::uint64_t high = load_relaxed_system(halves + 1);
  return make_uint4(static_cast<std::uint32_t>(low), static_cast<std::uint32_t>(low >> 32),
                    static_cast<std::uint32_t>(high), static_cast<std::uint32_t>(high >> 32));
}
__device__ __forceinline__ void store_line(uint4* to, uint4 line) {
  auto* halves = reinterpret_cast<std::uint64_t*>(to);
  store_relaxed_system(halves, std::uint64_t{line.y} << 32 | line.x);
  store_relaxed_system(halves + 1, std::uint64_t{line.w} << 32 | line.z);
}

#else

__device__ __forceinline__ std::uint64_t load_acquire_system(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
__device__ __forceinline__ void store_release_system(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
__device__ __forceinline__ std::uint64_t load_acquire_device(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
__device__ __forceinline__ void store_release_device(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
__device__ __forceinline__ std::uint32_t load_relaxed_system(const std::uint32_t* from) {
  std::uint32_t value;
  asm volatile("ld.relaxed.sys.global.u32 %0, [%1];" : "=r"(value) : "l"(from) : "memory");
  return value;
}
__device__ __forceinline__ std::uint64_t load_relaxed_system(const std::uint64_t* from) {
  std::uint64_t value;
  asm volatile("ld.relaxed.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(from) : "memory");
  return value;
}
__device__ __forceinline__ void store_relaxed_system(std::uint32_t* to, std::uint32_t value) {
  asm volatile("st.relaxed.sys.global.u32 [%0], %1;" ::"l"(to), "r"(value) : "memory");
}
__device__ __forceinline__ void store_relaxed_system(std::uint64_t* to, std::uint64_t value) {
  asm volatile("st.relaxed.sys.global.u64 [%0], %1;" ::"l"(to), "l"(value) : "memory");
}
// Both an acquire and a release.
__device__ __forceinline__ std::uint32_t exchange_system(std::uint32_t* at, std::uint32_t value) {
  std::uint32_t before;
  asm volatile("atom.acq_rel.sys.global.exch.b32 %0, [%1], %2;"
               : "=r"(before)
               : "l"(at), "r"(value)
               : "memory");
  return before;
}
// Adds 1, and gives what was there before. Both an acquire and a release.
__device__ __forceinline__ std::uint32_t count_device(std::uint32_t* at) {
  std::uint32_t before;
  asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;" : "=r"(before) : "l"(at) : "memory");
  return before;
}
// Both an acquire and a release, for the relaxed accesses before and after it.
__device__ __forceinline__ void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

// A line is two pairs of a word and its flag, each of which arrives whole.
__device__ __forceinline__ uint4 load_line(const uint4* from) {
  uint4 line;
  asm volatile("ld.volatile.global.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(line.x), "=r"(line.y), "=r"(line.z), "=r"(line.w)
               : "l"(from)
               : "memory");
  return line;
}
__device__ __forceinline__ void store_line(uint4* to, uint4 line) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1, %2, %3, %4};" ::"l"(to), "r"(line.x),
               "r"(line.y), "r"(line.z), "r"(line.w)
               : "memory");
}

// A clock that stands still for nobody, in nanoseconds from an arbitrary moment.
__device__ __forceinline__ std::uint64_t nanoseconds() {
  std::uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value)::"memory");
  return value;
}

#endif

// How many threads of the first warp, from its first one on without a gap, say yes. All 32 of them
// call.
__device__ __forceinline__ std::uint32_t leading(bool yes) {
#if GYRE_ON_HIP
  const auto no = static_cast<std::uint32_t>(~__ballot(yes));
#else
  const std::uint32_t no = ~__ballot_sync(0xffff'ffffU, yes);
#endif
  return no == 0 ? 32 : static_cast<std::uint32_t>(__ffs(static_cast<int>(no))) - 1;
}

// What a loop that waits does after a look in vain. Nothing: on a GPU nobody needs to be let by,
// and a pause would add to every wait. The emulated device (tests/emulated) lets other threads run.
__device__ __forceinline__ void look_in_vain() {}

// Arithmetic that rounds each operation by itself, whatever the compiler may fuse elsewhere.
#if GYRE_ON_HIP

template <class T>
__device__ __forceinline__ T rounded_sum(T a, T b) {
#pragma clang fp contract(off)
  return a + b;
}
template <class T>
__device__ __forceinline__ T rounded_product(T a, T b) {
#pragma clang fp contract(off)
  return a * b;
}
template <class T>
__device__ __forceinline__ T rounded_quotient(T a, T b) {
  return a / b;
}

// fp16, as the hardware converts: exactly, and to nearest even with subnormals kept.
__device__ __forceinline__ float widen_half(std::uint16_t code) {
  return static_cast<float>(__builtin_bit_cast(_Float16, code));
}
__device__ __forceinline__ std::uint16_t narrow_half(float value) {
  return __builtin_bit_cast(std::uint16_t, static_cast<_Float16>(value));
}

#else

__device__ __forceinline__ float rounded_sum(float a, float b) { return __fadd_rn(a, b); }
__device__ __forceinline__ double rounded_sum(double a, double b) { return __dadd_rn(a, b); }
__device__ __forceinline__ float rounded_product(float a, float b) { return __fmul_rn(a, b); }
__device__ __forceinline__ double rounded_product(double a, double b) { return __dmul_rn(a, b); }
__device__ __forceinline__ float rounded_quotient(float a, float b) { return __fdiv_rn(a, b); }
__device__ __forceinline__ double rounded_quotient(double a, double b) { return __ddiv_rn(a, b); }

// fp16, as the hardware converts: exactly, and to nearest even with subnormals kept.
__device__ __forceinline__ float widen_half(std::uint16_t code) {
  float value;
  asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(code));
  return value;
}
__device__ __forceinline__ std::uint16_t narrow_half(float value) {
  std::uint16_t code;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(code) : "f"(value));
  return code;
}

#endif

// fp8, where the hardware converts it. Narrowing is to nearest even, and what is beyond the largest
// finite value becomes that value, infinity too. What NaN becomes is the caller's business.
#if !GYRE_ON_HIP && __CUDA_ARCH__ >= 890

inline constexpr bool kConvertsFloat8 = true;

__device__ __forceinline__ float widen_e4m3(std::uint8_t code) {
  std::uint32_t halves;
  asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(halves) : "h"(static_cast<std::uint16_t>(code)));
  return widen_half(static_cast<std::uint16_t>(halves));
}
__device__ __forceinline__ std::uint8_t narrow_e4m3(float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e4m3x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0F), "f"(value));
  return static_cast<std::uint8_t>(pair);
}
__device__ __forceinline__ std::uint8_t narrow_e5m2(float value) {
  std::uint16_t pair;
  asm("cvt.rn.satfinite.e5m2x2.f32 %0, %1, %2;" : "=h"(pair) : "f"(0.0F), "f"(value));
  return static_cast<std::uint8_t>(pair);
}

#else

inline constexpr bool kConvertsFloat8 = false;

// Never called: kConvertsFloat8 is asked first.
__device__ __forceinline__ float widen_e4m3(std::uint8_t) { return 0; }
__device__ __forceinline__ std::uint8_t narrow_e4m3(float) { return 0; }
__device__ __forceinline__ std::uint8_t narrow_e5m2(float) { return 0; }

#endif

}  // namespace gyre::device
