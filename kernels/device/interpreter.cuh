// The interpreter: one block runs one channel of one chain of a launch.
//
// The first warp decodes steps, waits for lanes and aims the task; where data is to be moved, all
// threads fold or copy between two barriers; then the first warp publishes. It goes on to the next
// step without a barrier, since nobody else reads what it then writes before the next one.
#pragma once

#include <algorithm>

#include "kernels/device/batch.cuh"
#include "kernels/device/fold.cuh"
#include "kernels/device/mapped.cuh"
#include "kernels/factor.hpp"

namespace gyre::device {

// Copies `bytes`, a multiple of 4, with all threads, of which that of warp `first` begins: what
// other warps copy is on its way at the same time, where one thread's loads wait for its stores.
__device__ inline void copy_words(void* to, const void* from, std::uint32_t bytes,
                                  std::uint32_t first) {
  static_assert((kThreads & (kThreads - 1)) == 0);
  auto* words = static_cast<std::uint32_t*>(to);
  const auto* source = static_cast<const std::uint32_t*>(from);
  std::uint32_t i = (threadIdx.x - first * kWarp) & (kThreads - 1);
  for (; i < bytes / 4; i += kThreads) words[i] = source[i];
}

// All threads. The first ones look after a peer each.
__device__ inline void enter(Block& block, const Launch& launch) {
  static_assert(sizeof(Rank) % 4 == 0 && sizeof(LanePair) % 4 == 0);
  static_assert(kThreads >= kMostPeers);
  const Rank& rank = launch.rank;
  block.channel = blockIdx.x % launch.channels;
  block.stop = false;
  block.mapped = true;  // unless a rank says no
  const std::uint32_t row = (blockIdx.x % launch.channels) * rank.world;
  copy_words(&block.rank, &launch.rank, sizeof(Rank), 2);
  copy_words(block.lanes, rank.lanes + row, rank.world * sizeof(LanePair), 3);
  if (threadIdx.x == kThreads - 1) block.meeting = rank.exchange.counts[0];
  const std::uint32_t peer = threadIdx.x;
  if (peer >= rank.world) return;
  const Ends ends = rank.ends[row + peer];
  const std::uint8_t refers = rank.refers[peer];
  block.ends[peer] = ends;
  block.began_sent[peer] = ends.sent;
  block.began_received[peer] = ends.received;
  block.refers[peer] = refers;
  block.referred[peer] = 0;
  block.shifts[peer] = {};
}

// All threads: the strand of `work` from its start. Barriers lie before and after.
__device__ inline void begin(Block& block, const Launch& launch, const Work& work) {
  static_assert(sizeof(Work) % 4 == 0 && sizeof(Program) % 4 == 0);
  copy_words(&block.work, &work, sizeof(Work), 6);
  copy_words(&block.program, &launch.program, sizeof(Program), 8);
}

// A message's program gets its peer: strand 0 sends, strand 1 receives. One thread.
__device__ inline void aim_at_peer(Block& block) {
  const std::uint32_t peer = block.work.peer;
  if (peer == kNoPeer) return;
  Step& step = block.program.steps[block.work.strand];
  Peers& peers = block.work.strand == 0 ? step.send : step.receive;
  peers.first = static_cast<std::uint16_t>(peer);
}

// A factor that lies in memory is read when the call runs. One thread.
__device__ inline void read_scalar(Block& block) {
  const auto* scalar = static_cast<const std::byte*>(block.work.scalar);
  if (scalar == nullptr) return;
  const Factor factor = read_factor(scalar, block.work.fold.type);
  block.work.fold.scale = factor.scale;
  block.work.fold.scale_bits = factor.bits;
}

// The first thread: all that the strand needs besides, up to the cursor over this channel's tiles.
__device__ inline void rewind(Block& block, bool mapped) {
  if (block.work.asks && mapped) take_mapped_cut(block.work);
  read_scalar(block);
  aim_at_peer(block);
  const Work& work = block.work;
  block.task.element_bytes = work.element_bytes;
  block.task.fold = work.fold;
  block.task.stripe = work.striped ? block.channel : 0;
  block.task.stripes = work.striped ? work.channels : 1;
  const std::uint64_t after = work.tiles > block.channel ? work.tiles - block.channel : 0;
  std::uint64_t tiles = work.striped ? work.tiles : (after + work.channels - 1) / work.channels;
  if (block.channel >= work.channels) tiles = 0;
  block.cursor = Cursor(block.program, work.strand, tiles);
  block.ahead_count = 0;
  block.ahead_at = 0;
}

// Takes or gives a token of the other strand, which another block of this rank runs. One thread.
__device__ inline bool take_token(const Block& block) {
  Tokens& tokens = block.rank.tokens[block.channel];
  const std::uint32_t other = 1 - block.work.strand;
  const std::uint64_t next = ++tokens.taken[block.work.strand];
  Patience patience(block.rank);
  while (load_acquire_device(&tokens.given[other]) < next) {
    // The other strand waits for a peer, has the deadline, and knows whom to name.
    if (!patience.lasts_for_own()) return false;
  }
  return true;
}
__device__ inline void give_token(const Block& block) {
  Tokens& tokens = block.rank.tokens[block.channel];
  const std::uint64_t next = tokens.given[block.work.strand] + 1;
  store_release_device(&tokens.given[block.work.strand], next);
}

// The first warp: waits until the current step can be done, and aims the task at its first chunk.
// Not part of its caller, whose registers are the element loop's.
static __device__ __noinline__ void prepare(Block& any) {
  Block& block = *shared(&any);
  const DecodedStep& step = block.current();
  const Rank& rank = block.rank;
  const std::uint32_t lane = threadIdx.x;
  bool going = true;
  if (lane == 0) {
    set_fold(block);
    going = step.step.token != Token::take || take_token(block);
  }
  for (std::uint32_t i = lane; going && i < step.senders; i += kWarp) {
    going = take_message(block, i, nth_peer(step.step.receive, rank.rank, rank.world, i));
  }
  __syncwarp();
  for (std::uint32_t i = lane; going && i < step.receivers; i += kWarp) {
    going = prepare_send(block, i, nth_peer(step.step.send, rank.rank, rank.world, i));
  }
  if (!going) block.stop = true;
  __syncwarp();
  if (lane == 0 && !block.stop) {
    aim(block, 0);
    block.posted = lies_ready(block);
  }
  __syncwarp();
}

// The first warp, after the current step.
__device__ inline void conclude(Block& block) {
  publish(block);
  __syncwarp();
  if (threadIdx.x == 0) {
    if (block.current().step.token == Token::give) give_token(block);
    ++block.ahead_at;
  }
  __syncwarp();
}

// The first warp: goes on until the current step moves data, the strand is done or it must stop.
__device__ inline void go_on(Block& block) {
  for (;;) {
    if (block.ahead_at == block.ahead_count) decode_ahead(block);
    if (block.ahead_count == 0) return;
    const std::uint32_t batch = run_batch(block);
    if (block.stop) return;
    if (batch != 0) {
      if (threadIdx.x == 0) block.ahead_at += batch;
      __syncwarp();
      continue;
    }
    prepare(block);
    if (block.stop) return;
    if (block.posted) post(block);
    if (moves_data(block)) return;
    conclude(block);
  }
}

template <class Move>
__device__ void run_strand(Block& block, Move move) {
  const bool leads = threadIdx.x < kWarp;
  for (;;) {
    if (leads) go_on(block);
    __syncthreads();
    if (block.stop || block.ahead_count == 0) return;
    const std::uint32_t chunks = block.current().step.chunks;
    for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
      if (chunk != 0) {
        __syncthreads();
        if (threadIdx.x == 0) {
          block.done += block.task.elements * block.task.element_bytes;
          aim(block, chunk);
        }
        __syncthreads();
      }
      move(block.task);
    }
    __syncthreads();
    if (leads) conclude(block);
  }
}

// The last warp asks all ranks whether they reach each other's buffers. The first one decodes
// meanwhile as if they did, which they do but for a program's first few calls. False: stop. All
// threads.
__device__ inline bool settle(Block& block, const Launch& launch, const Work& work) {
  if (threadIdx.x < kWarp) {
    if (threadIdx.x == 0) rewind(block, true);
    __syncwarp();
    decode_ahead(block);
  } else if (threadIdx.x >= kThreads - kWarp) {
    settle_mapping(block, launch);
  }
  __syncthreads();
  if (block.stop || block.mapped) return !block.stop;
  begin(block, launch, work);
  __syncthreads();
  if (threadIdx.x == 0) rewind(block, false);
  return true;
}

// Until no peer reads this rank's buffers any more; then the ends are put back. All threads.
static __device__ __noinline__ void leave(Block& any) {
  Block& block = *shared(&any);
  const Rank& rank = block.rank;
  const std::uint32_t peer = threadIdx.x;
  if (block.stop || peer >= rank.world) return;
  const std::uint64_t referred = block.referred[peer];
  if (referred != 0 && !wait_taken(block, peer, block.lanes[peer].send, referred)) return;
  // Only what this block moved on: another chain's may be at the other end of a pair.
  Ends& ends = rank.ends[block.channel * rank.world + peer];
  const Ends& reached = block.ends[peer];
  if (reached.sent != block.began_sent[peer]) {
    ends.sent = reached.sent;
    ends.head = std::max(reached.head, referred);
  }
  if (reached.received != block.began_received[peer]) ends.received = reached.received;
}

// Shared memory cannot have members that begin with values.
struct alignas(16) BlockMemory {
  unsigned char bytes[sizeof(Block)];
};

template <class Move>
__device__ void run_chain(const Launch& launch, Move move) {
  __shared__ BlockMemory memory;
  Block& block = *reinterpret_cast<Block*>(memory.bytes);
  const Work* works = launch.works != nullptr ? launch.works : launch.inline_works;
  const Work* work = works + blockIdx.x / launch.channels;
  const bool asks = launch.works == nullptr && launch.inline_works[0].asks;
  enter(block, launch);
  begin(block, launch, *work);
  __syncthreads();
  if (asks) {
    if (!settle(block, launch, *work)) return;
  } else if (threadIdx.x == 0) {
    rewind(block, false);
  }
  for (;;) {
    __syncwarp();
    run_strand(block, move);
    if (block.stop || block.work.next == 0) break;
    work = works + block.work.next;
    __syncthreads();
    begin(block, launch, *work);
    __syncthreads();
    if (threadIdx.x == 0) rewind(block, asks && block.mapped);
  }
  leave(block);
  if (asks && threadIdx.x == 0 && !block.stop) end_question(launch);
}

}  // namespace gyre::device
