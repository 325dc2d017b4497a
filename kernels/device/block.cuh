// What the threads of one block share while they run the strands of a chain.
#pragma once

#include "kernels/device/fold_task.hpp"
#include "kernels/device/portable.cuh"
#include "kernels/device/work.hpp"
#include "schedule/cursor.hpp"

namespace gyre::device {

inline constexpr std::uint32_t kWarp = 32;

// Where a chunk lies, and how long it is.
struct Piece {
  std::byte* at;
  std::uint64_t elements;
};

// A step with all that follows from the program and the call, before any peer is asked.
struct DecodedStep {
  ResolvedStep step;
  std::uint64_t tile;  // of the call
  std::uint64_t bytes;
  Piece source;  // of its first chunk, if it has one
  Piece target;
  const std::byte* stays;  // where the value lies until the end of the call, or null
  Side stays_in;
  bool is_there;     // already, before the step has moved anything
  std::byte* offer;  // where the sender offers to have the answer, or null
  std::uint32_t senders;
  std::uint32_t receivers;
  std::uint32_t sources;   // operands
  std::uint32_t local_at;  // which of them is the rank's own; `sources`: none
  bool scales;             // the own one is what the user gave
  bool folds;
  bool answers;  // each receiver sent an operand, and may have offered a place for the result
};

// A communicator on devices has so many ranks at most: everything about each peer is kept here,
// since device memory is 300 ns away.
struct Block {
  Rank rank;
  Program program;
  Work work;
  FoldTask task;
  std::uint32_t channel;
  std::uint64_t meeting;  // the first channel's next one, when the launch began
  bool stop;              // aborted
  bool mapped;            // by all ranks (mapped.cuh)

  // Steps are decoded one by each thread of the first warp, ahead of their turn.
  Cursor cursor;  // behind the last of them
  DecodedStep ahead[kWarp];
  std::uint32_t ahead_count;
  std::uint32_t ahead_at;

  std::uint32_t batch_peers[kWarp];  // of the steps that are run at once

  // Of the step at work, by its place in the step's receive or send range.
  const std::byte* messages[kMostPeers];  // where a received value begins; null: in the target
  std::byte* offered[kMostPeers];         // where a sender offers to have the result, or null
  std::byte* slots[kMostPeers];           // where a value that is sent begins, or null: it stays
  std::uint64_t done;                     // bytes of the chunks before the one at work
  bool posted;                            // to the receivers already, who read what is copied

  LanePair lanes[kMostPeers];
  Ends ends[kMostPeers];
  std::uint64_t began_sent[kMostPeers];  // as it was when the launch began
  std::uint64_t began_received[kMostPeers];
  std::uint64_t referred[kMostPeers];  // position after the last reference sent; 0: none
  std::uint8_t refers[kMostPeers];
  Shifts shifts[kMostPeers];  // 0 where the peer's addresses are this rank's

  __device__ const DecodedStep& current() const { return ahead[ahead_at]; }
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
