// What a reduction computes, on every kind of rank.
#pragma once

#include <cstdint>

#include "base/types.hpp"

namespace gyre {

// What one fold computes. All operands have the element type `type`.
struct Fold {
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  // premulsum: factor of the local operand. Rounded once to fp32 for types below fp32 and for fp32;
  // truncated toward zero, then taken mod 2^k, for integers of 8 and 32 bits.
  double scale = 1.0;
  // premulsum of 64-bit integers: the exact factor, as the bits of the element type.
  std::uint64_t scale_bits = 0;
  int ranks = 1;        // avg: the divisor, >= 1
  int local = -1;       // premulsum: index of the operand to scale, -1: none
  bool finish = false;  // avg: divide by `ranks`; set only by the step that yields the final value
};

}  // namespace gyre
