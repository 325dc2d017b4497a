// Which algorithm runs a call, and how its buffers are cut. Pure: the same inputs give the same
// plan on every rank, and every input is either part of the call or agreed at init.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/status.hpp"
#include "schedule/call.hpp"
#include "schedule/layout.hpp"
#include "schedule/step.hpp"

namespace gyre {

enum class Algorithm : std::uint8_t { ring, one_shot, direct, pairwise };
std::string_view name_of(Algorithm algorithm);

// What all ranks of a communicator agreed on at init.
struct PlanFacts {
  int world = 1;
  bool memory_lanes = false;  // every pair of ranks shares memory
  bool reproducible = false;
  std::uint32_t ring_only = 0;  // kinds, by bit, to which NCCL_ALGO leaves nothing but a ring
  std::uint64_t slot_bytes = 0;
  std::uint64_t one_shot_bytes = 0;
};

struct Plan {
  Algorithm algorithm = Algorithm::ring;
  Layout input;
  Layout output;
  std::uint64_t tiles = 1;
};

// `call` is a collective with one count for all ranks, or all_gather_v / reduce_scatter_v, whose
// block table the layouts then point into.
Plan make_plan(const Call& call, int rank, const PlanFacts& facts);

// The program of one rank for a planned collective.
Program build_program(CallKind kind, Algorithm algorithm, int rank, int world, int root);

// The largest slice, in elements: what fits in a slot, a multiple of a cache line.
std::uint64_t largest_slice(DataType type, std::uint64_t slot_bytes);

}  // namespace gyre
