// What the threads of one block share while they run the strands of a chain.
#pragma once

#include "kernels/device/fold_task.hpp"
#include "kernels/device/work.hpp"
#include "schedule/cursor.hpp"

namespace gyre::device {

inline constexpr std::uint32_t kWarp = 32;

// Positions and lanes of so few peers are kept here: device memory is 300 ns away.
inline constexpr std::uint32_t kKeptPeers = kMostPeers;

struct Block {
  Rank rank;
  Program program;
  Work work;
  Cursor cursor;
  ResolvedStep step;
  FoldTask task;

  std::uint32_t channel;
  bool stop;  // aborted, or the chain is done

  // Of the step at work, by its place in the step's receive or send range.
  const std::byte* messages[kMostPeers];  // where a received value begins
  std::byte* offered[kMostPeers];         // where a sender offers to have the result, or null
  std::byte* slots[kMostPeers];  // where a value that is sent begins, or null: by reference
  std::uint64_t bytes;           // of the step's value
  std::uint64_t done;            // of them, the chunks before the one at work

  LanePair kept_lanes[kKeptPeers];
  Ends kept_ends[kKeptPeers];
  std::uint64_t referred[kKeptPeers];  // position after the last reference sent; 0: none

  __device__ bool keeps() const { return rank.world <= kKeptPeers; }
  __device__ const LanePair& lanes(std::uint32_t peer) const {
    return keeps() ? kept_lanes[peer] : rank.lanes[channel * rank.world + peer];
  }
  __device__ Ends& ends(std::uint32_t peer) {
    return keeps() ? kept_ends[peer] : rank.ends[channel * rank.world + peer];
  }
};

// The i-th rank of peers_of(range), so that each thread of a warp finds its own.
__device__ inline std::uint32_t nth_peer(PeerRange range, std::uint32_t self, std::uint32_t world,
                                         std::uint32_t i) {
  if (range.stride == 1) {
    const std::uint32_t distance =
        self >= range.first ? self - range.first : self + world - range.first;
    const std::uint32_t at = range.first + i + (distance < range.count && i >= distance ? 1 : 0);
    return at < world ? at : at - world;
  }
  auto peer = peers_of(range, self, world).begin();
  for (; i != 0; --i) ++peer;
  return *peer;
}

}  // namespace gyre::device
