// Which schedule runs a call of device ranks, and how finely its buffers are cut.
//
// Ranks of one machine whose devices reach each other's memory have one good answer for each kind:
// every rank reads from all others at once. What is left to choose is when a small message is worth
// more copies and fewer steps, and how many blocks share the work.
#pragma once

#include <cstdint>

#include "kernels/device/threads.hpp"
#include "plan/planner.hpp"

namespace gyre {

// What all device ranks of a communicator agreed on at init.
struct DeviceFacts {
  std::uint32_t channels = 1;    // that there are lanes for
  std::uint64_t slot_bytes = 0;  // of a lane
  bool one_process = false;      // every rank reads and writes every buffer of the others
  std::uint64_t map_bytes = 0;   // GYRE_MAP_BYTES
};

struct DevicePlan {
  Plan plan;
  std::uint32_t channels = 1;  // at work, of each strand
  // Every channel works on every tile, on a stripe of each of its chunks, so that at any time all
  // blocks of a rank are close together in memory; else each works on tiles of its own.
  bool striped = false;
  bool exchange =
      false;  // the short form runs it (kernels/device/exchange.cuh), not the interpreter
  std::uint32_t threads = device::kThreads;  // of a block
  // Ranks ask each other, when the call runs, whether they reach each other's buffers; if so they
  // run it striped, on tiles of this cut.
  bool asks = false;
  std::uint64_t mapped_slice = 0;
  std::uint64_t mapped_tiles = 0;
};

// `call` is a planned kind, all_gather_v or reduce_scatter_v. Pure, the same on all ranks.
Algorithm device_algorithm(const Call& call, const PlanFacts& facts);

// What the programs of all ranks have in common, since every rank must cut its buffers alike. It
// takes all of their programs to find out, and is the same for every count, type and operation.
struct DeviceSchedule {
  bool only_refers = false;  // what is sent stays where it is until the call ends
  bool has_scratch = false;
  std::uint32_t strands = 1;  // of the rank that has most
};
DeviceSchedule device_schedule(const Call& call, const PlanFacts& facts, Algorithm algorithm);

// `schedule` and `program`: device_schedule's and build_program's for that algorithm.
DevicePlan device_plan(const Call& call, int rank, const PlanFacts& facts,
                       const DeviceFacts& device, Algorithm algorithm,
                       const DeviceSchedule& schedule, const Program& program);

// How the messages of a group are spread over blocks: those to ranks a distance d after the own
// one, modulo the world, form class d % classes, sent by the blocks of one chain, one after the
// other by distance, and those from ranks d before it another. Within a class the shortest distance
// that is not done can always go on, whoever sends to whom: so no group waits for itself.
struct MessageSpread {
  std::uint32_t classes = 1;
  std::uint32_t channels = 1;  // of each chain: those that a message has at most
};
MessageSpread message_spread(std::uint32_t world, const DeviceFacts& device);

// What all messages of a rank to others run: strand 0 sends a chunk, strand 1 receives one. The
// kernel puts the peer in.
Program message_program(int rank, int world);

// How a message is cut, and how many of the channels share it.
DevicePlan device_message_plan(const Call& message, const MessageSpread& spread,
                               const DeviceFacts& device);

}  // namespace gyre
