// Waiting for peers, by one thread: every wait ends with what it waits for, with the abort flag, or
// with a reason that this kernel then writes: the deadline, or that the peer is in another call.
#pragma once

#include "kernels/device/block.cuh"
#include "kernels/device/lines.cuh"
#include "kernels/device/portable.cuh"
#include "kernels/device/threads.hpp"

namespace gyre::device {

// Tells the host of the first fault of this communicator's kernels, and stops the others.
__device__ inline void report(const Rank& rank, Fault fault, std::uint32_t peer, const Matter& own,
                              const Matter& theirs) {
  Mailbox& mailbox = *rank.mailbox;
  if (exchange_system(rank.reporting, 1U) == 0) {
    mailbox.peer = peer;
    mailbox.own_stamp = own.stamp;
    mailbox.own_tag = own.tag;
    mailbox.own_bytes = own.bytes;
    mailbox.peer_stamp = theirs.stamp;
    mailbox.peer_tag = theirs.tag;
    mailbox.peer_bytes = theirs.bytes;
    fence_system();
    store_relaxed_system(&mailbox.fault, static_cast<std::uint32_t>(fault));
  }
  store_relaxed_system(&mailbox.abort, 1U);
}

__device__ inline Matter matter_of(const Block& block) {
  return {block.work.stamp, block.work.tag, block.current().bytes};
}
__device__ inline Matter matter_of(const SlotHeader& header) {
  return {header.count, header.call, header.bytes};
}

// How long a wait has lasted, and whether it must end.
class Patience {
 public:
  __device__ explicit Patience(const Rank& rank) : rank_(rank) {}

  // After another look in vain at what another block of the same rank does, which has the deadline:
  // whether to look again.
  __device__ bool lasts_for_own() {
    look_in_vain();
    return ++spins_ % kSpinsPerLook != 0 || load_relaxed_system(&rank_.mailbox->abort) == 0;
  }

  // After another look in vain: whether to look again. `hopeless` is asked now and then whether
  // that is known to be of no use, and tells why; `late` tells of the deadline.
  template <class Hopeless, class Late>
  __device__ bool lasts(Hopeless hopeless, Late late) {
    look_in_vain();
    if (++spins_ % kSpinsPerLook != 0) return true;
    if (load_relaxed_system(&rank_.mailbox->abort) != 0 || hopeless()) return false;
    if (rank_.timeout_ns == 0) return true;
    const std::uint64_t now = nanoseconds();
    if (since_ == 0) since_ = now;
    if (now - since_ < rank_.timeout_ns) return true;
    late();
    return false;
  }

 private:
  const Rank& rank_;
  std::uint32_t spins_ = 0;
  std::uint64_t since_ = 0;
};

// Whether a peer has destroyed its communicator. Whatever it had to do in a call is then to be seen
// after this.
__device__ inline bool has_left(const Rank& rank, std::uint32_t peer) {
  if ((load_relaxed_system(&rank.mailbox->left) >> peer & 1) == 0) return false;
  fence_system();
  return true;
}

// Whether a peer has begun an exchange that this rank has not come to, while this rank is in a call
// of another kind. What the peer had to do in that call, had it been in it, is then to be seen
// after this. Not part of its callers, whose registers it would add to.
static __device__ __noinline__ bool is_in_exchange(const Block& block, std::uint32_t peer,
                                                   Matter* theirs) {
  if (block.channel != 0) return false;  // the first channel is at work in every call
  const Rank& rank = block.rank;
  // A launch that asked has met, which it counts at its end.
  const std::uint64_t number = block.meeting + (block.work.asks ? 1 : 0);
  const uint4 line = load_line(lines_at(rank, rank.exchange.inbox, number, 0, peer));
  if (!has_flag(line, flag_of(number))) return false;
  *theirs = matter_of(line);
  fence_system();
  return true;
}

// Whether `ready` came true.
template <class Ready>
__device__ bool wait_for(const Block& block, std::uint32_t peer, Ready ready) {
  Patience patience(block.rank);
  while (!ready()) {
    const auto hopeless = [&] {
      Matter theirs{};
      const bool left = has_left(block.rank, peer);
      if ((!left && !is_in_exchange(block, peer, &theirs)) || ready()) return false;
      report(block.rank, left ? Fault::left : Fault::other_call, peer, matter_of(block), theirs);
      return true;
    };
    const auto late = [&] { report(block.rank, Fault::timeout, peer, matter_of(block), Matter{}); };
    if (!patience.lasts(hopeless, late)) return false;
  }
  return true;
}

// The orders are those of schedule/lane.hpp.
__device__ inline const std::uint64_t* sequence_of(const SlotHeader& header) {
  static_assert(sizeof header.sequence == sizeof(std::uint64_t));
  return reinterpret_cast<const std::uint64_t*>(&header.sequence);
}
__device__ inline std::uint64_t* sequence_of(SlotHeader& header) {
  return reinterpret_cast<std::uint64_t*>(&header.sequence);
}
__device__ inline std::uint64_t* head_of(LaneCredit* credit) {
  static_assert(sizeof credit->head == sizeof(std::uint64_t));
  return reinterpret_cast<std::uint64_t*>(&credit->head);
}

// The slot that `position` uses.
__device__ inline std::uint32_t slot_index(const LaneView& view, std::uint64_t position) {
  return static_cast<std::uint32_t>(position & (view.slots - 1));  // a power of two on devices
}

__device__ inline bool wait_message(const Block& block, std::uint32_t peer, const LaneView& lane,
                                    std::uint64_t position) {
  const std::uint64_t* sequence = sequence_of(lane.headers[slot_index(lane, position)]);
  return wait_for(block, peer, [&] { return load_acquire_system(sequence) == position + 1; });
}

// Looks at the credit only where what was seen of it before does not do.
__device__ inline bool wait_credit(Block& block, std::uint32_t peer, const LaneView& lane,
                                   std::uint64_t position) {
  std::uint64_t& seen = block.ends[peer].head;
  if (position < seen + lane.slots) return true;
  const std::uint64_t* head = head_of(lane.credit);
  return wait_for(block, peer, [&] {
    seen = load_acquire_system(head);
    return position < seen + lane.slots;
  });
}

// Gives the sender the front slot back. All that read it have what they read: a barrier lies
// between, before which each used what it loaded. So there is nothing to release, and the
// microsecond that it would take is saved. (Loads that go past the barrier, such as asynchronous
// copies, would need one.)
__device__ inline void give_back(Block& block, std::uint32_t peer) {
  store_relaxed_system(head_of(block.lanes[peer].receive.credit), ++block.ends[peer].received);
}

// Until the peer has taken everything below `position`.
__device__ inline bool wait_taken(const Block& block, std::uint32_t peer, const LaneView& lane,
                                  std::uint64_t position) {
  const std::uint64_t* head = head_of(lane.credit);
  return wait_for(block, peer, [&] { return load_acquire_system(head) >= position; });
}

}  // namespace gyre::device
