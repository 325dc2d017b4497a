// All ranks of a communicator meet in a call: each writes lines to every other one (lines.cuh), the
// first of which says what call it is in, and waits for those of all.
//
// A channel's meetings are numbered, whatever they are for: the data of a small message
// (exchange.cuh), or a question (mapped.cuh).
#pragma once

#include "kernels/device/lines.cuh"
#include "kernels/device/waits.cuh"

namespace gyre::device {

struct Meeting {
  const Rank& rank;
  const Inboxes& inboxes;
  const Work& work;
  std::uint32_t channel;
  std::uint64_t number;  // among the channel's
  std::uint32_t flag;

  // The lines of this channel that this rank writes for another, and another for it.
  __device__ uint4* line_to(std::uint32_t receiver, std::uint32_t index) const {
    return lines_at(rank, inboxes.of[receiver], number, channel, rank.rank) + index;
  }
  __device__ const uint4* line_from(std::uint32_t sender, std::uint32_t index) const {
    return lines_at(rank, rank.exchange.inbox, number, channel, sender) + index;
  }
  __device__ uint4 first() const { return first_line(work.tag, work.stamp, flag); }
  __device__ Matter matter() const {
    return {work.stamp, work.tag, work.input_layout.count * work.element_bytes};
  }
};

// The i-th rank after this one, so that not everybody writes to the same one first.
__device__ inline std::uint32_t later_rank(const Rank& rank, std::uint32_t i) {
  const std::uint32_t later = rank.rank + i;
  return later < rank.world ? later : later - rank.world;
}

__device__ inline void send_line(const Meeting& meeting, std::uint32_t index, const uint4& line) {
  const Rank& rank = meeting.rank;
  for (std::uint32_t i = 1; i < rank.world; ++i) {
    store_line(meeting.line_to(later_rank(rank, i), index), line);
  }
}

// Whether a peer sent over a lane what no call of this rank has taken, so that it is in another
// one. Had it come through this one, its lines would then be there to see. Not part of its caller,
// whose registers it would add to.
static __device__ __noinline__ bool is_on_lane(const Meeting& meeting, std::uint32_t peer,
                                               Matter* theirs) {
  if (meeting.channel != 0) return false;  // the first channel is at work in every call
  const LaneView& lane = meeting.rank.lanes[peer].receive;
  const std::uint64_t position = meeting.rank.ends[peer].received;
  const SlotHeader& header = lane.headers[slot_index(lane, position)];
  if (load_acquire_system(sequence_of(header)) != position + 1) return false;
  *theirs = matter_of(header);
  return true;
}

// Peer by peer, by the last threads first: in a small message the others are busy with its data.
__device__ inline std::uint32_t first_greeted() { return blockDim.x - 1 - threadIdx.x; }

// Tells every peer which call this rank is in.
__device__ inline void greet(const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  for (std::uint32_t peer = first_greeted(); peer < rank.world; peer += blockDim.x) {
    if (peer != rank.rank) store_line(meeting.line_to(peer, 0), meeting.first());
  }
}

// Waits for line `index` of a peer. False: stop. Whether the peer is in another call shows in the
// first line, for which somebody waits.
__device__ inline bool wait_line(const Meeting& meeting, std::uint32_t peer, std::uint32_t index,
                                 uint4* line) {
  const Rank& rank = meeting.rank;
  const uint4* from = meeting.line_from(peer, index);
  const auto look = [&] {
    *line = load_line(from);
    return has_flag(*line, meeting.flag);
  };
  const auto hopeless = [&] {
    Matter theirs{};
    const bool left = has_left(rank, peer);
    const bool elsewhere = index == 0 && is_on_lane(meeting, peer, &theirs);
    if ((!left && !elsewhere) || look()) return false;
    report(rank, left ? Fault::left : Fault::other_call, peer, meeting.matter(), theirs);
    return true;
  };
  const auto late = [&] { report(rank, Fault::timeout, peer, meeting.matter(), {}); };
  Patience patience(rank);
  while (!look()) {
    if (!patience.lasts(hopeless, late)) return false;
  }
  return true;
}

// Whether a peer whose first line it is, is in the same call. False: stop.
__device__ inline bool is_same_call(const Meeting& meeting, std::uint32_t peer, const uint4& line) {
  const uint4 own = meeting.first();
  if (line.x == own.x && line.z == own.z) return true;
  report(meeting.rank, Fault::other_call, peer, meeting.matter(), matter_of(line));
  return false;
}

// Whether every peer is, of those that this thread greeted.
__device__ inline bool agree(const Meeting& meeting) {
  const Rank& rank = meeting.rank;
  for (std::uint32_t peer = first_greeted(); peer < rank.world; peer += blockDim.x) {
    if (peer == rank.rank) continue;
    uint4 line;
    if (!wait_line(meeting, peer, 0, &line) || !is_same_call(meeting, peer, line)) return false;
  }
  return true;
}

}  // namespace gyre::device
