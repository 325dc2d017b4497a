// Steps without data, run at once: each thread of the first warp does one of the next steps, where
// those only send references to different peers, or only find their results in place.
//
// Doing them one by one costs two microseconds each. Doing them in any order is right: none reads
// or writes what another one does, each lane keeps its order, and whoever waits for one of them
// waits no longer than before.
#pragma once

#include "kernels/device/step.cuh"

namespace gyre::device {

// What a step without data does, or that it is none. Short values, too, are referred to, although
// one alone would be sent (kPushedBytes): many references take no longer than one.
enum class Light : std::uint8_t { none, sends, receives };

__device__ inline Light lightness(const Block& block, const DecodedStep& decoded) {
  const ResolvedStep& step = decoded.step;
  if (step.token != Token::none || step.chunks != 1) return Light::none;
  const bool sends = decoded.receivers == 1 && decoded.senders == 0 && step.target == kNoChunk;
  if (sends && decoded.stays != nullptr && decoded.bytes > kInlineBytes) return Light::sends;
  const bool receives = decoded.senders == 1 && decoded.receivers == 0 && step.source == kNoChunk;
  return receives && !decoded.folds && block.work.offers ? Light::receives : Light::none;
}

// Whether a message is at the front of the lane that carries no data. Whatever else it is, it gets
// a step of its own.
__device__ inline bool is_light(const Block& block, const DecodedStep& step, std::uint32_t peer) {
  const LaneView& lane = block.lanes[peer].receive;
  const std::uint64_t position = block.ends[peer].received;
  const SlotHeader& header = lane.headers[slot_index(lane, position)];
  if (load_acquire_system(sequence_of(header)) != position + 1) return false;
  return header.call == block.work.tag && header.count == block.work.stamp &&
         header.bytes == step.bytes && (header.kind == SlotKind::placed || step.bytes == 0);
}

__device__ inline bool send_light(Block& block, const DecodedStep& step, std::uint32_t peer) {
  const LaneView& lane = block.lanes[peer].send;
  const std::uint64_t position = block.ends[peer].sent;
  if (!wait_credit(block, peer, lane, position)) return false;
  fill_reference(block, step, peer, lane.headers[slot_index(lane, position)]);
  store_release_system(sequence_of(lane.headers[slot_index(lane, position)]), position + 1);
  ++block.ends[peer].sent;
  return true;
}

// Runs as many of the next steps as are light, alike and with different peers; how many. Where the
// next two are not alike there is nothing to gain. The first warp.
static __device__ __noinline__ std::uint32_t run_batch(Block& any) {
  Block& block = *shared(&any);
  const std::uint32_t lane = threadIdx.x;
  const std::uint32_t at = block.ahead_at + lane;
  if (block.ahead_at + 1 == block.ahead_count) return 0;
  const Rank& rank = block.rank;
  const DecodedStep& first = block.ahead[block.ahead_at];
  const DecodedStep& own = block.ahead[at < block.ahead_count ? at : block.ahead_at];
  const Light kind = lightness(block, first);
  if (kind == Light::none || lightness(block, block.ahead[block.ahead_at + 1]) != kind) return 0;
  const PeerRange& range = kind == Light::sends ? own.step.send : own.step.receive;
  const std::uint32_t peer = nth_peer(range, rank.rank, rank.world, 0);
  block.batch_peers[lane] = peer;
  __syncwarp();
  bool joins = at < block.ahead_count && lightness(block, own) == kind;
  if (kind == Light::sends) joins = joins && block.refers[peer] != 0;
  for (std::uint32_t i = 0; i < lane; ++i) joins = joins && block.batch_peers[i] != peer;
  // All before the first that does not join, or cannot.
  bool going = true;
  if (kind == Light::receives) {
    // Only for the first one, as a step of its own would: a peer behind it may wait for that.
    if (lane == 0) {
      const LaneView& front = block.lanes[peer].receive;
      going = wait_message(block, peer, front, block.ends[peer].received);
    }
    __syncwarp();
    joins = joins && is_light(block, own, peer);
  }
  const std::uint32_t batch = leading(joins);
  if (lane < batch) {
    if (kind == Light::sends) {
      going = send_light(block, own, peer);
    } else {
      give_back(block, peer);
    }
  }
  if (!going) block.stop = true;
  __syncwarp();
  return batch;
}

}  // namespace gyre::device
