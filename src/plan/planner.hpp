// Which algorithm runs a call, and how its buffers are cut. Pure: the same inputs give the same
// plan on every rank, and every input is either part of the call or agreed at init.
#pragma once

#include <array>
#include <cstdint>

#include "plan/algorithm.hpp"
#include "plan/algorithm_list.hpp"
#include "plan/choices.hpp"
#include "plan/machine_facts.hpp"
#include "schedule/call.hpp"
#include "schedule/layout.hpp"
#include "schedule/step.hpp"

namespace gyre {

// A kind's schedule where the user chose it, or null.
struct Forced {
  Algorithm algorithm = Algorithm::ring;
  const CatalogueEntry* schedule = nullptr;
  std::uint64_t slice_bytes = 0;  // at most; 0: as long as slots
};

constexpr std::array<bool, kCallKinds> with_short_forms() {
  std::array<bool, kCallKinds> all{};
  for (bool& one : all) one = true;
  return all;
}

// What all ranks of a communicator agreed on at init.
struct PlanFacts {
  int world = 1;
  int ranks_per_host = 1;  // consecutive ranks; 1 where hosts have different numbers of them
  bool reproducible = false;
  // By kind, whether NCCL_PROTO leaves small calls the form that carries flags with data.
  std::array<bool, kCallKinds> short_form = with_short_forms();
  std::uint32_t slots = 4;
  std::uint64_t slot_bytes = 0;
  std::uint64_t one_shot_bytes = 0;            // larger messages are not sent to all ranks at once
  AllowedAlgorithms allowed = {};              // NCCL_ALGO and the channels that may be used
  std::array<Forced, kCallKinds> forced = {};  // by kind: GYRE_ALGO
  MachineFacts machine;
  Choices choices;  // rank 0's
};

struct Plan {
  Algorithm algorithm = Algorithm::ring;
  bool by_reference = true;  // whether the schedule allows references to the buffers
  Layout input;
  Layout output;
  std::uint64_t tiles = 1;
};

// Whether the call's contributions must be folded in rank order, in one place: in reproducible
// mode; averages, which must not overflow on the way; low-precision floats, which are then rounded
// once (but for a reduce, whose root would have to receive everything), if NCCL_ALGO leaves a
// schedule that does.
bool needs_fixed_order(const Call& call, const PlanFacts& facts);

// What runs the call: the user's choice, or the planner's. Precondition: a planned kind, or
// all_gather_v or reduce_scatter_v. Hot path: a few look-ups.
Choice choice_for(const Call& call, const PlanFacts& facts);

// How long rank 0 predicted that a call takes, without what waits for it. All-to-all-v and its like
// are taken for calls with equal blocks of as many bytes.
double predicted_seconds(const Call& call, int rank, const PlanFacts& facts);

// How buffers are cut.
struct Cut {
  std::uint64_t slot_bytes = 0;  // what a message holds; 0: facts.slot_bytes
  // Of buffers that are alike on every rank. On the host each chunk is a part of its own: where
  // the ranks' chunks lie between each other, what a core reads ahead past the end of its own are
  // lines that another one is about to write. In place, large all-reduces of two ranks take 1.3
  // times as long between cores that share no cache.
  Layout::Kind whole = Layout::Kind::parted;
};

// `call` is a collective with one count for all ranks, or all_gather_v / reduce_scatter_v, whose
// block table the layouts then point into. `choice` is choice_for's, `program` build_program's.
// Hot path of calls that differ from the one before: no allocation.
Plan make_plan(const Call& call, int rank, const PlanFacts& facts, const Choice& choice,
               const Program& program, const Cut& cut = {});

// The program of one rank for a planned collective. Precondition: the kind has the algorithm.
Program build_program(CallKind kind, Algorithm algorithm, int rank, int world, int root,
                      int ranks_per_host = 1);

// The largest slice, in elements: what fits in a slot, a multiple of a cache line.
std::uint64_t largest_slice(DataType type, std::uint64_t slot_bytes);

}  // namespace gyre
