// Element-wise reductions in host memory, the arithmetic under every rank that is not a GPU.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/types.hpp"
#include "kernels/fold.hpp"

namespace gyre {

// target[i] = sources[0][i] op sources[1][i] op ..., from left to right, for every i < count.
//
// Every pointer may have any byte alignment. `target` may equal one or more of the sources exactly;
// no other overlap. Needs at least one source. Touches no byte outside [0, count) elements.
// Thread-safe, allocates nothing, cannot fail.
//
// The bits of a result depend on the operands, their order and `fold` alone: not on the CPU, the
// alignment or the position of the element. They assume the default floating-point environment
// (round to nearest, subnormals kept).
//
// - fp16, bf16 and fp8 are accumulated in fp32 over all sources and rounded once at the end, to
//   nearest even. fp8 results beyond the largest finite value become that value; an infinity stays
//   one in e5m2 and becomes 448 in e4m3, which has none.
// - avg with `finish` never overflows where the true average fits: see README.md. Without `finish`
//   avg is sum.
// - Integers wrap mod 2^k, but avg with `finish` is exact (truncated toward zero).
// - max and min: a NaN wins, and -0 < +0, so the order of the sources does not matter.
// - A NaN that an operation yields has its sign clear and every other bit set. A fold that does not
//   compute (one source, nothing to scale or divide) is a copy of the bits.
void fold(const Fold& fold, std::byte* target, std::span<const std::byte* const> sources,
          std::uint64_t count);

// Copies `bytes`; the ranges are equal (then nothing happens) or disjoint.
void copy(std::byte* target, const std::byte* source, std::uint64_t bytes);

// The same past the caches, into disjoint memory that is not read soon: no line is fetched to be
// overwritten. finish_streaming() comes before whatever tells another thread of the bytes.
void copy_streaming(std::byte* target, const std::byte* source, std::uint64_t bytes);
void finish_streaming();

// The same into memory that a peer has read: claims lines ahead of the stores.
void copy_to_peer(std::byte* target, const std::byte* source, std::uint64_t bytes);

}  // namespace gyre
