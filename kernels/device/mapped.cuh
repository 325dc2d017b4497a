// Whether all ranks of a call reach the buffers of all, so that they may work on each other's
// memory instead of passing everything through slots. Ranks of one process always do. Others do
// once their hosts have mapped the allocations that hold the buffers (transport/device/mappings),
// which takes its time; so the ranks ask each other at the begin of every call that is worth it,
// and all come to the same answer:
//   every rank tells all others the allocations of its buffers, and looks theirs up;
//   it tells them whether it found all; the answer is yes if everybody did.
// The first block of a rank asks, and answers the other ranks and its own other blocks alike; these
// wait for the answers alone, and take what the first block has found. (By the time that a block
// begins, a peer may be done with the call, and what was mapped of it is gone.) What was not found
// the host learns from `missed`, and maps.
#pragma once

#include "kernels/device/block.cuh"
#include "kernels/device/meeting.cuh"

namespace gyre::device {

// After the first line of a meeting.
inline constexpr std::uint32_t kInputLine = 1;
inline constexpr std::uint32_t kOutputLine = 2;
inline constexpr std::uint32_t kAnswerLine = 3;
inline constexpr std::uint32_t kQuestionLines = 3;  // those before the answer

// What a rank says of its call in one of its first lines.
__device__ inline uint4 question(const Meeting& meeting, std::uint32_t index) {
  if (index == 0) return meeting.first();
  const Work& work = meeting.work;
  return line_of(index == kInputLine ? work.input_allocation : work.output_allocation,
                 meeting.flag);
}

// Looks an allocation of a peer up. Whether it can be reached here, by adding `shift`.
__device__ inline bool look_up(const Rank& rank, std::uint32_t peer, std::uint64_t allocation,
                               std::uint64_t* shift) {
  *shift = 0;
  if (rank.refers[peer] != 0 || allocation == kNoAllocation) return true;
  const Mapping* row = rank.mappings.table + std::uint64_t{peer} * kMappings;
  for (std::uint32_t i = 0; i < kMappingPlaces; ++i) {
    const Mapping& mapping = row[(allocation + i) % kMappings];
    if (load_acquire_system(&mapping.allocation) != allocation) continue;
    *shift = load_relaxed_system(&mapping.shift);
    return true;
  }
  return false;
}

// Hears one of a peer's first lines. False: stop.
__device__ inline bool hear(Block& block, const Meeting& meeting, std::uint32_t peer,
                            std::uint32_t index) {
  uint4 line;
  if (!wait_line(meeting, peer, index, &line)) return false;
  if (index == 0) return is_same_call(meeting, peer, line);
  const std::uint64_t allocation = data_of(line);
  Shifts& shifts = block.shifts[peer];
  std::uint64_t& shift = index == kInputLine ? shifts.input : shifts.output;
  if (look_up(meeting.rank, peer, allocation, &shift)) return true;
  block.mapped = false;
  std::uint64_t* missed = meeting.rank.mappings.missed + 2 * peer + (index - kInputLine);
  if (allocation != kUnreachable) store_relaxed_system(missed, allocation);
  return true;
}

// Every thread of the warp looks after a line of a peer, so that all are on their way at once.
// False, on all of them: stop.
__device__ inline bool ask(Block& block, const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  const std::uint32_t lane = threadIdx.x % kWarp, lines = rank.world * kQuestionLines;
  for (std::uint32_t i = lane; i < lines; i += kWarp) {
    const std::uint32_t peer = i / kQuestionLines, index = i % kQuestionLines;
    if (peer != rank.rank) store_line(meeting.line_to(peer, index), question(meeting, index));
  }
  for (std::uint32_t i = lane; i < lines && !block.stop; i += kWarp) {
    const std::uint32_t peer = i / kQuestionLines, index = i % kQuestionLines;
    if (peer != rank.rank && !hear(block, meeting, peer, index)) block.stop = true;
  }
  __syncwarp();
  const bool stops = block.stop;
  __syncwarp();  // before one of them stops in what follows
  return !stops;
}

// Answers the peers, then the other blocks of this rank, which see what was found after it.
__device__ inline void answer(const Block& block, const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const uint4 own = line_of(block.mapped ? 1 : 0, meeting.flag);
  for (std::uint32_t peer = lane; peer < rank.world; peer += kWarp) {
    if (peer != rank.rank) store_line(meeting.line_to(peer, kAnswerLine), own);
    store_relaxed_system(&rank.mappings.shifts[peer].input, block.shifts[peer].input);
    store_relaxed_system(&rank.mappings.shifts[peer].output, block.shifts[peer].output);
  }
  __syncwarp();
  if (lane != 0) return;
  fence_system();
  store_line(meeting.line_to(rank.rank, kAnswerLine), own);
}

// Waits for the answer of a rank. False: stop.
__device__ inline bool wait_answer(const Meeting& meeting, std::uint32_t peer, uint4* line) {
  if (peer != meeting.rank.rank) return wait_line(meeting, peer, kAnswerLine, line);
  Patience patience(meeting.rank);
  for (;;) {
    *line = load_line(meeting.line_from(peer, kAnswerLine));
    if (has_flag(*line, meeting.flag)) return true;
    // The first block waits for the peers, and has the deadline.
    if (!patience.lasts_for_own()) return false;
  }
}

__device__ inline void hear_answers(Block& block, const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  const std::uint32_t lane = threadIdx.x % kWarp;
  for (std::uint32_t peer = lane; peer < rank.world && !block.stop; peer += kWarp) {
    uint4 line;
    if (!wait_answer(meeting, peer, &line)) {
      block.stop = true;
    } else if (data_of(line) == 0) {
      block.mapped = false;
    }
  }
  fence_system();  // before what the first block found is read
  __syncwarp();
  if (block.stop || !block.mapped) return;
  for (std::uint32_t peer = lane; peer < rank.world; peer += kWarp) {
    if (peer == rank.rank) continue;
    const Shifts& found = rank.mappings.shifts[peer];
    block.shifts[peer] = {load_relaxed_system(&found.input), load_relaxed_system(&found.output)};
    block.refers[peer] = 1;
  }
}

// One warp of each block, before the first work begins.
static __device__ __noinline__ void settle_mapping(Block& any, const Launch& launch) {
  Block& block = *shared(&any);
  const Rank& rank = launch.rank;
  const std::uint64_t number = block.meeting;
  const Meeting meeting{rank, launch.inboxes, launch.inline_works[0], 0, number, flag_of(number)};
  if (blockIdx.x == 0) {
    if (!ask(block, meeting)) return;
    answer(block, meeting);
  }
  hear_answers(block, meeting);
}

// One thread of each block, after its work: then all of them have heard.
__device__ inline void end_question(const Launch& launch) {
  std::uint32_t* ended = launch.rank.mappings.ended;
  if (count_device(ended) + 1 != launch.chains * launch.channels) return;
  *ended = 0;
  ++launch.rank.exchange.counts[0];
}

// A strand whose buffers all ranks reach. One thread.
__device__ inline void take_mapped_cut(Work& work) {
  work.striped = true;
  work.tiles = work.mapped_tiles;
  work.input_layout.slice = work.output_layout.slice = work.mapped_slice;
}

}  // namespace gyre::device
