// Inputs of reductions whose result is exact in the element type whatever the order, grouping and
// precision of the arithmetic, so that results can be compared bit for bit.
//
// How: of each element a few ranks (all of them, in small worlds) are active; the others hold the
// neutral value.
// - sum, mulsum on floats: active values are integers times one power of two, and the sum of their
//   magnitudes fits the mantissa, so every partial sum is exact.
// - prod on floats: active values are powers of two, one of them with a full mantissa.
// - avg on floats: two equal values, so that only the division by the number of ranks rounds (once
//   or twice, by implementation): compared within 2 units in the last place.
// - max, min: any finite values.
// - integers: sum and prod wrap, so any bits do (odd factors, lest products vanish); avg stays so
//   small that the sum fits the type, and its quotient is truncated.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nccl.h"

namespace gyre::bench {

class ReductionData {
 public:
  // `denormals`: let one element in 16 lie among the denormals (slow on some processors, so not
  // for timing). op is a ncclRedOp_t or kMulSum.
  ReductionData(ncclDataType_t type, int op, int ranks, std::uint64_t seed, bool denormals)
      : type_(type), op_(op), ranks_(ranks), seed_(seed), denormals_(denormals) {}

  // Elements [first, first + count) of the input of `rank`.
  void input(void* to, std::size_t first, std::size_t count, int rank) const;
  // The same elements of the result.
  void expected(void* to, std::size_t first, std::size_t count) const;

 private:
  // The input of a rank, or (rank < 0) the result.
  void fill(void* to, std::size_t first, std::size_t count, int rank) const;

  ncclDataType_t type_;
  int op_;
  int ranks_;
  std::uint64_t seed_;
  bool denormals_;
};

// The factor of `rank` in mulsum: 1 on even ranks, 2 on odd ones.
constexpr int mulsum_factor(int rank) { return 1 + (rank & 1); }

// Writes the bits of that factor in the given type (at most 8 bytes).
void write_mulsum_factor(void* to, ncclDataType_t type, int rank);

}  // namespace gyre::bench
