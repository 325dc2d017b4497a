// Which algorithm runs a call, and how its buffers are cut. Pure: the same inputs give the same
// plan on every rank, and every input is either part of the call or agreed at init.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "schedule/call.hpp"
#include "schedule/layout.hpp"
#include "schedule/step.hpp"

namespace gyre {

// The names of the catalogue, any kind's.
enum class Algorithm : std::uint8_t {
  ring,
  one_shot,
  two_shot,
  direct,
  pairwise,
  star,
  two_rings,
  tree,
  double_tree,
  halving_doubling,
  recursive_doubling,
  bruck,
  binomial,
  hierarchical,
};
inline constexpr int kAlgorithms = 14;
std::string_view name_of(Algorithm algorithm);

inline constexpr std::size_t kCallKinds = 13;

// A kind's schedule where the user chose it, or null.
struct Forced {
  Algorithm algorithm = Algorithm::ring;
  const CatalogueEntry* schedule = nullptr;
};

// What all ranks of a communicator agreed on at init.
struct PlanFacts {
  int world = 1;
  int ranks_per_host = 1;     // consecutive ranks; 1 where hosts have different numbers of them
  bool memory_lanes = false;  // every pair of ranks shares memory
  bool reproducible = false;
  std::uint32_t ring_only = 0;  // kinds, by bit, to which NCCL_ALGO leaves nothing but a ring
  std::uint64_t slot_bytes = 0;
  std::uint64_t one_shot_bytes = 0;
  std::array<Forced, kCallKinds> forced = {};  // by kind: GYRE_ALGO
};

struct Plan {
  Algorithm algorithm = Algorithm::ring;
  bool by_reference = true;  // whether the schedule allows references to the buffers
  Layout input;
  Layout output;
  std::uint64_t tiles = 1;
};

// The collective of the catalogue that a kind of call is; the v-variants and messages are none.
std::optional<CollectiveKind> collective_of(CallKind kind);

// `call` is a collective with one count for all ranks, or all_gather_v / reduce_scatter_v, whose
// block table the layouts then point into.
Plan make_plan(const Call& call, int rank, const PlanFacts& facts);

// The program of one rank for a planned collective. Precondition: the kind has the algorithm.
Program build_program(CallKind kind, Algorithm algorithm, int rank, int world, int root,
                      int ranks_per_host = 1);

// The largest slice, in elements: what fits in a slot, a multiple of a cache line.
std::uint64_t largest_slice(DataType type, std::uint64_t slot_bytes);

}  // namespace gyre
