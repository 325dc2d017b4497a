// Private to kernels/host: the fold of each family of types, compiled once per SIMD target.
// Same contract as gyre::fold; copies are already taken out by the caller.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/host/reduce.hpp"

namespace gyre::host {

using Sources = std::span<const std::byte* const>;

void fold_float32(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);
void fold_float64(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);
void fold_half(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);
void fold_bfloat16(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);
void fold_float8e4m3(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);
void fold_float8e5m2(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);
void fold_integer(const Fold& fold, std::byte* target, Sources sources, std::uint64_t count);

// Whether the fold multiplies its local operand or divides its result.
constexpr bool scales(const Fold& fold) {
  return fold.op == ReduceOp::premulsum && fold.local >= 0;
}
constexpr bool divides(const Fold& fold) { return fold.op == ReduceOp::avg && fold.finish; }

}  // namespace gyre::host
