// Whether all ranks of a call reach the buffers of all, so that they may work on each other's
// memory instead of passing everything through slots. Ranks of one process always do. Others do
// once their hosts have mapped the allocations that hold the buffers (transport/device/mappings),
// which takes its time; so the ranks ask each other at the begin of every call that is worth it,
// and all come to the same answer:
//   every rank tells all others the allocations of its buffers, and looks theirs up;
//   it tells them whether it found all; the answer is yes if everybody did.
// The first block asks and tells the others of its rank, so that all blocks go by one answer. What
// was not found the host learns from `missed`, and maps.
#pragma once

#include "kernels/device/block.cuh"
#include "kernels/device/meeting.cuh"

namespace gyre::device {

// After the first line of a meeting.
inline constexpr std::uint32_t kInputLine = 1;
inline constexpr std::uint32_t kOutputLine = 2;
inline constexpr std::uint32_t kAnswerLine = 3;

// Waits for an allocation of a peer to be told, and looks it up. False: stop.
__device__ inline bool look_up(const Meeting& meeting, std::uint32_t peer, std::uint32_t index,
                               std::uint64_t* shift, bool* found) {
  uint4 line;
  if (!wait_line(meeting, peer, index, &line)) return false;
  const std::uint64_t allocation = data_of(line);
  *shift = 0;
  if (meeting.rank.refers[peer] != 0 || allocation == kNoAllocation) return true;
  const Mapping* row = meeting.rank.mappings.table + std::uint64_t{peer} * kMappings;
  for (std::uint32_t i = 0; i < kMappingPlaces; ++i) {
    const Mapping& mapping = row[(allocation + i) % kMappings];
    if (load_acquire_system(&mapping.allocation) != allocation) continue;
    *shift = load_relaxed_system(&mapping.shift);
    return true;
  }
  *found = false;
  if (allocation != kUnreachable) {
    store_relaxed_system(meeting.rank.mappings.missed + 2 * peer + (index - kInputLine),
                         allocation);
  }
  return true;
}

// One thread a peer. False: stop.
__device__ inline bool look_up_buffers(const Meeting& meeting, std::uint32_t peer, bool* found) {
  Shifts shifts;
  if (!agrees(meeting, peer) || !look_up(meeting, peer, kInputLine, &shifts.input, found) ||
      !look_up(meeting, peer, kOutputLine, &shifts.output, found)) {
    return false;
  }
  meeting.rank.mappings.shifts[peer] = shifts;
  return true;
}

// The first block.
__device__ inline void ask(Block& block, const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  greet(meeting);
  if (threadIdx.x == 0) {
    send_line(meeting, kInputLine, line_of(meeting.work.input_allocation, meeting.flag));
    send_line(meeting, kOutputLine, line_of(meeting.work.output_allocation, meeting.flag));
  }
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += kThreads) {
    bool found = true;
    if (peer != rank.rank && !look_up_buffers(meeting, peer, &found)) block.stop = true;
    if (!found) block.mapped = false;
  }
  __syncthreads();
  if (block.stop) return;
  if (threadIdx.x == 0)
    send_line(meeting, kAnswerLine, line_of(block.mapped ? 1 : 0, meeting.flag));
  __syncthreads();
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += kThreads) {
    uint4 line;
    if (peer == rank.rank) continue;
    if (!wait_line(meeting, peer, kAnswerLine, &line)) {
      block.stop = true;
    } else if (data_of(line) == 0) {
      block.mapped = false;
    }
  }
  __syncthreads();
}

// One thread of the first block.
__device__ inline void tell_blocks(const Block& block, const Meeting& meeting) {
  Verdict& verdict = *meeting.rank.mappings.verdict;
  meeting.rank.exchange.counts[0] = meeting.number + 1;
  store_release_device(&verdict.latest, (verdict.asked + 1) * 2 + (block.mapped ? 1 : 0));
}

// One thread of another block.
__device__ inline void hear(Block& block, const Rank& rank) {
  std::uint64_t latest = 0;
  const Verdict& verdict = *rank.mappings.verdict;
  const std::uint64_t next = verdict.asked + 1;
  const auto look = [&] {
    latest = load_acquire_device(&verdict.latest);
    return latest / 2 == next;
  };
  Patience patience(rank);
  while (!look()) {
    if (patience.lasts_for_own()) continue;
    block.stop = true;
    return;
  }
  block.mapped = latest % 2 != 0;
}

// One thread of each block, after its work: then all of them have heard.
__device__ inline void end_question(const Launch& launch) {
  Verdict& verdict = *launch.rank.mappings.verdict;
  if (count_device(&verdict.ended) + 1 != launch.chains * launch.channels) return;
  verdict.ended = 0;
  ++verdict.asked;
}

// All threads of all blocks, before the first work begins.
static __device__ __noinline__ void settle_mapping(Block& block, const Launch& launch) {
  const Rank& rank = launch.rank;
  const Work& work = launch.inline_works[0];
  if (blockIdx.x == 0) {
    const std::uint64_t number = rank.exchange.counts[0];
    const Meeting meeting{rank, launch.inboxes, work, 0, number, flag_of(number)};
    ask(block, meeting);
    if (block.stop) return;
    if (threadIdx.x == 0) tell_blocks(block, meeting);
  } else {
    if (threadIdx.x == 0) hear(block, rank);
    __syncthreads();
  }
  if (block.stop || !block.mapped) return;
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += kThreads) {
    block.shifts[peer] = rank.mappings.shifts[peer];
    block.refers[peer] = 1;
  }
}

// A strand whose buffers all ranks reach. One thread.
__device__ inline void take_mapped_cut(Work& work) {
  work.striped = true;
  work.tiles = work.mapped_tiles;
  work.input_layout.slice = work.output_layout.slice = work.mapped_slice;
}

}  // namespace gyre::device
