// The interpreter: one block runs one channel of one chain of a launch.
//
// Each step: the first warp waits for lanes and aims the task, all threads fold or copy, the first
// warp publishes. Two barriers a step; the first warp goes on to the next step's waits without one,
// since nobody else reads what it then writes before the next barrier.
#pragma once

#include "kernels/device/fold.cuh"
#include "kernels/device/step.cuh"
#include "kernels/factor.hpp"

namespace gyre::device {

// Copies `bytes`, a multiple of 4, with all threads.
__device__ inline void copy_words(void* to, const void* from, std::uint32_t bytes) {
  auto* words = static_cast<std::uint32_t*>(to);
  const auto* source = static_cast<const std::uint32_t*>(from);
  for (std::uint32_t i = threadIdx.x; i < bytes / 4; i += blockDim.x) words[i] = source[i];
}

// All threads.
__device__ inline void enter(Block& block, const Launch& launch) {
  static_assert(sizeof(Rank) % 4 == 0 && sizeof(LanePair) % 4 == 0 && sizeof(Ends) % 4 == 0);
  block.channel = blockIdx.x % launch.channels;
  block.stop = false;
  copy_words(&block.rank, &launch.rank, sizeof(Rank));
  const Rank& rank = launch.rank;
  if (rank.world > kKeptPeers) return;
  const std::uint32_t row = (blockIdx.x % launch.channels) * rank.world;
  copy_words(block.kept_lanes, rank.lanes + row, rank.world * sizeof(LanePair));
  copy_words(block.kept_ends, rank.ends + row, rank.world * sizeof(Ends));
  for (std::uint32_t i = threadIdx.x; i < rank.world; i += blockDim.x) block.referred[i] = 0;
}

// All threads: the strand of `work` from its start. Barriers lie before and after.
__device__ inline void begin(Block& block, const Launch& launch, const Work& work) {
  static_assert(sizeof(Work) % 4 == 0 && sizeof(Program) % 4 == 0);
  const Program* program = work.program != nullptr ? work.program : &launch.program;
  copy_words(&block.work, &work, sizeof(Work));
  copy_words(&block.program, program, sizeof(Program));
}

// A factor that lies in memory is read when the call runs. One thread.
__device__ inline void read_scalar(Block& block) {
  const auto* scalar = static_cast<const std::byte*>(block.work.scalar);
  if (scalar == nullptr) return;
  const Factor factor = read_factor(scalar, block.work.fold.type);
  block.work.fold.scale = factor.scale;
  block.work.fold.scale_bits = factor.bits;
}

// The first thread: the cursor over this channel's tiles.
__device__ inline void rewind(Block& block, std::uint32_t channels) {
  const Work& work = block.work;
  block.task.stripe = work.striped ? block.channel : 0;
  block.task.stripes = work.striped ? channels : 1;
  const std::uint64_t after = work.tiles > block.channel ? work.tiles - block.channel : 0;
  const std::uint64_t tiles = work.striped ? work.tiles : (after + channels - 1) / channels;
  block.cursor = Cursor(block.program, work.strand, tiles);
}

// Takes or gives a token of the other strand, which another block of this rank runs. One thread.
__device__ inline bool take_token(const Block& block) {
  Tokens& tokens = block.rank.tokens[block.channel];
  const std::uint32_t other = 1 - block.work.strand;
  const std::uint64_t next = ++tokens.taken[block.work.strand];
  return wait_for(block, block.rank.rank,
                  [&] { return load_acquire_device(&tokens.given[other]) >= next; });
}
__device__ inline void give_token(const Block& block) {
  Tokens& tokens = block.rank.tokens[block.channel];
  const std::uint64_t next = tokens.given[block.work.strand] + 1;
  store_release_device(&tokens.given[block.work.strand], next);
}

// The first warp: waits until the step can be done, and aims the task at its first chunk. Not part
// of its caller, whose registers are the element loop's.
static __device__ __noinline__ void prepare(Block& block, std::uint32_t channels,
                                            std::uint32_t* senders, std::uint32_t* receivers) {
  const std::uint32_t lane = threadIdx.x;
  if (lane == 0) {
    block.step = block.cursor.current();
    block.done = 0;
    if (block.step.token == Token::take && !take_token(block)) block.stop = true;
    block.bytes = bytes_of_step(block, tile_of(block, channels));
  }
  __syncwarp();
  const Rank& rank = block.rank;
  const std::uint64_t tile = tile_of(block, channels);
  *senders = peers_of(block.step.receive, rank.rank, rank.world).size();
  *receivers = peers_of(block.step.send, rank.rank, rank.world).size();
  if (lane == 0) prepare_fold(block, *senders);
  bool going = !block.stop;
  for (std::uint32_t i = lane; going && i < *senders; i += kWarp) {
    going = take_message(block, i, nth_peer(block.step.receive, rank.rank, rank.world, i));
  }
  __syncwarp();
  for (std::uint32_t i = lane; going && i < *receivers; i += kWarp) {
    going = prepare_send(block, i, nth_peer(block.step.send, rank.rank, rank.world, i), tile);
  }
  if (!going) block.stop = true;
  __syncwarp();
  if (lane == 0 && !block.stop) aim(block, 0, *senders, *receivers, tile);
}

template <class Move>
__device__ void run_strand(Block& block, std::uint32_t channels, Move move) {
  const bool leads = threadIdx.x < kWarp;
  for (;;) {
    std::uint32_t senders = 0;
    std::uint32_t receivers = 0;
    if (leads && !block.cursor.done()) prepare(block, channels, &senders, &receivers);
    __syncthreads();
    if (block.stop || block.cursor.done()) return;
    for (std::uint32_t chunk = 0; chunk < block.step.chunks; ++chunk) {
      if (chunk != 0) {
        __syncthreads();
        if (threadIdx.x == 0) {
          block.done += block.task.elements * block.task.element_bytes;
          aim(block, chunk, senders, receivers, tile_of(block, channels));
        }
        __syncthreads();
      }
      move(block.task);
    }
    __syncthreads();
    if (!leads) continue;
    publish(block, threadIdx.x, senders, receivers);
    if (threadIdx.x == 0) {
      if (block.step.token == Token::give) give_token(block);
      block.cursor.next();
    }
    __syncwarp();
  }
}

// Until no peer reads this rank's buffers any more; then the ends are put back. All threads.
static __device__ __noinline__ void leave(Block& block) {
  const Rank& rank = block.rank;
  if (block.stop || !block.keeps()) return;
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += blockDim.x) {
    if (block.referred[peer] == 0) continue;
    (void)wait_taken(block, peer, block.kept_lanes[peer].send, block.referred[peer]);
  }
  // Only what this block moved on: another chain's may be at the other end of a pair.
  Ends* ends = rank.ends + block.channel * rank.world;
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += blockDim.x) {
    const Ends& reached = block.kept_ends[peer];
    if (ends[peer].sent < reached.sent) ends[peer].sent = reached.sent;
    if (ends[peer].received < reached.received) ends[peer].received = reached.received;
  }
}

template <class Move>
__device__ void run_chain(const Launch& launch, Move move) {
  __shared__ alignas(16) unsigned char memory[sizeof(Block)];
  Block& block = *reinterpret_cast<Block*>(memory);
  const Work* works = launch.works != nullptr ? launch.works : launch.inline_works;
  const Work* work = works + blockIdx.x / launch.channels;
  enter(block, launch);
  for (;;) {
    begin(block, launch, *work);
    __syncthreads();
    if (threadIdx.x == 0) {
      read_scalar(block);
      rewind(block, launch.channels);
    }
    __syncwarp();
    run_strand(block, launch.channels, move);
    if (block.stop || block.work.next == 0) break;
    work = works + block.work.next;
    __syncthreads();
  }
  leave(block);
}

}  // namespace gyre::device
