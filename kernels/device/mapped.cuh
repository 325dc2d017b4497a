// Whether all ranks of a call reach the buffers of all, so that they may work on each other's
// memory instead of passing everything through slots. Ranks of one process always do. Others do
// once their hosts have mapped the allocations that hold the buffers (transport/device/mappings),
// which takes its time; so the ranks ask each other at the begin of every call that is worth it,
// and all come to the same answer:
//   every rank tells all others the allocations of its buffers, and looks theirs up;
//   it tells them whether it found all; the answer is yes if everybody did.
// The first block of a rank writes to the others; all its blocks hear what they say, and its own
// answer too, so that all go by one answer. What was not found the host learns from `missed`, and
// maps.
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

// Where the number that is added to a peer's addresses on one side is kept.
__device__ inline std::uint64_t& shift_of(Block& block, std::uint32_t peer, std::uint32_t index) {
  Shifts& shifts = block.shifts[peer];
  return index == kInputLine ? shifts.input : shifts.output;
}

// Hears one of a peer's first lines. False: stop. What is not found leaves kUnreachable; the first
// block says so, and its answer decides.
__device__ inline bool hear(Block& block, const Meeting& meeting, std::uint32_t peer,
                            std::uint32_t index) {
  if (index == 0) return agrees(meeting, peer);
  uint4 line;
  if (!wait_line(meeting, peer, index, &line)) return false;
  const std::uint64_t allocation = data_of(line);
  std::uint64_t& shift = shift_of(block, peer, index);
  if (look_up(meeting.rank, peer, allocation, &shift)) return true;
  shift = kUnreachable;
  if (blockIdx.x != 0) return true;
  block.mapped = false;
  std::uint64_t* missed = meeting.rank.mappings.missed + 2 * peer + (index - kInputLine);
  if (allocation != kUnreachable) store_relaxed_system(missed, allocation);
  return true;
}

// The first block has found all, so what this one has not found before is there by now, or is about
// to be seen. False: stop.
__device__ inline bool find_at_last(Block& block, const Meeting& meeting, std::uint32_t peer,
                                    std::uint32_t index) {
  std::uint64_t& shift = shift_of(block, peer, index);
  if (shift != kUnreachable) return true;
  const std::uint64_t allocation = data_of(load_line(meeting.line_from(peer, index)));
  Patience patience(meeting.rank);
  while (!look_up(meeting.rank, peer, allocation, &shift)) {
    if (!patience.lasts_for_own()) return false;
  }
  return true;
}

// Every thread of the warp looks after a line of a peer, so that all are on their way at once.
__device__ inline void ask(Block& block, const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  const std::uint32_t lane = threadIdx.x % kWarp, lines = rank.world * kQuestionLines;
  for (std::uint32_t i = lane; blockIdx.x == 0 && i < lines; i += kWarp) {
    const std::uint32_t peer = i / kQuestionLines, index = i % kQuestionLines;
    if (peer != rank.rank) store_line(meeting.line_to(peer, index), question(meeting, index));
  }
  for (std::uint32_t i = lane; i < lines && !block.stop; i += kWarp) {
    const std::uint32_t peer = i / kQuestionLines, index = i % kQuestionLines;
    if (peer != rank.rank && !hear(block, meeting, peer, index)) block.stop = true;
  }
  __syncwarp();
}

// Waits for the answer of a rank. The own one, which the first block gives, counts like the
// others': another block may find more or less. False: stop.
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

__device__ inline void answer(Block& block, const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  const std::uint32_t lane = threadIdx.x % kWarp;
  const uint4 own = line_of(block.mapped ? 1 : 0, meeting.flag);
  for (std::uint32_t peer = lane; blockIdx.x == 0 && peer < rank.world; peer += kWarp) {
    store_line(meeting.line_to(peer, kAnswerLine), own);
  }
  for (std::uint32_t peer = lane; peer < rank.world && !block.stop; peer += kWarp) {
    uint4 line;
    if (!wait_answer(meeting, peer, &line)) {
      block.stop = true;
    } else if (data_of(line) == 0) {
      block.mapped = false;
    }
  }
  __syncwarp();
}

// One warp of each block, before the first work begins.
static __device__ __noinline__ void settle_mapping(Block& any, const Launch& launch) {
  Block& block = *shared(&any);
  const Rank& rank = launch.rank;
  const std::uint64_t number = block.meeting;
  const Meeting meeting{rank, launch.inboxes, launch.inline_works[0], 0, number, flag_of(number)};
  ask(block, meeting);
  if (block.stop) return;
  answer(block, meeting);
  if (block.stop || !block.mapped) return;
  const std::uint32_t lane = threadIdx.x % kWarp;
  for (std::uint32_t i = lane; i < rank.world * kQuestionLines; i += kWarp) {
    const std::uint32_t peer = i / kQuestionLines, index = i % kQuestionLines;
    if (peer == rank.rank) continue;
    if (index == 0) {
      block.refers[peer] = 1;
    } else if (!find_at_last(block, meeting, peer, index)) {
      block.stop = true;
    }
  }
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
