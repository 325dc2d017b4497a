// What the ranks of a simulated call move: how their buffers are cut into tiles and chunks.
#pragma once

#include <cstdint>

#include "collectives/spec.hpp"
#include "schedule/layout.hpp"
#include "schedule/step.hpp"

namespace gyre::sim {

// Both layouts count in bytes.
struct Message {
  Layout input;
  Layout output;
  std::uint64_t tiles = 1;
};

// A call of `bytes` (the larger of a rank's two buffers, as nccl-tests counts), run by programs
// that cut tiles as `program` does, in slices of whole cache lines that fit in `slot_bytes`. Tables
// of counts per rank have no place here: cut those by hand.
Message message_of(CollectiveKind kind, std::uint64_t bytes, const Program& program,
                   std::uint64_t slot_bytes);

// The same in one tile of equal chunks, whatever their size: what closed forms speak of.
Message message_in_one_tile(CollectiveKind kind, std::uint64_t bytes, const Program& program);

}  // namespace gyre::sim
