// Waiting for peers, by one thread: every wait ends with what it waits for, with the abort flag or
// with the deadline, whose reason this kernel then writes.
#pragma once

#include "kernels/device/block.cuh"
#include "kernels/device/portable.cuh"

namespace gyre::device {

// The flag lies in host memory, a microsecond away, so it is looked at now and then.
inline constexpr std::uint32_t kSpinsPerLook = 1024;

// Tells the host of the first fault of this communicator's kernels, and stops the others.
__device__ inline void report(const Block& block, Fault fault, std::uint32_t peer,
                              const SlotHeader* header) {
  Mailbox& mailbox = *block.rank.mailbox;
  if (exchange_system(block.rank.reporting, 1U) == 0) {
    mailbox.peer = peer;
    mailbox.own_stamp = block.work.stamp;
    mailbox.own_tag = block.work.tag;
    mailbox.own_bytes = block.bytes;
    mailbox.peer_stamp = header != nullptr ? header->count : 0;
    mailbox.peer_tag = header != nullptr ? header->call : 0;
    mailbox.peer_bytes = header != nullptr ? header->bytes : 0;
    fence_system();
    store_relaxed_system(&mailbox.fault, static_cast<std::uint32_t>(fault));
  }
  store_relaxed_system(&mailbox.abort, 1U);
}

// Whether `ready` came true.
template <class Ready>
__device__ bool wait_for(const Block& block, std::uint32_t peer, Ready ready) {
  std::uint64_t since = 0;
  for (std::uint32_t spins = 1; !ready(); ++spins) {
    if (spins % kSpinsPerLook != 0) continue;
    if (load_relaxed_system(&block.rank.mailbox->abort) != 0) return false;
    if (block.rank.timeout_ns == 0) continue;
    const std::uint64_t now = nanoseconds();
    if (since == 0) since = now;
    if (now - since < block.rank.timeout_ns) continue;
    report(block, Fault::timeout, peer, nullptr);
    return false;
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

__device__ inline bool wait_credit(const Block& block, std::uint32_t peer, const LaneView& lane,
                                   std::uint64_t position) {
  const std::uint64_t* head = head_of(lane.credit);
  return wait_for(block, peer, [&] { return position < load_acquire_system(head) + lane.slots; });
}

// Until the peer has taken everything below `position`.
__device__ inline bool wait_taken(const Block& block, std::uint32_t peer, const LaneView& lane,
                                  std::uint64_t position) {
  const std::uint64_t* head = head_of(lane.credit);
  return wait_for(block, peer, [&] { return load_acquire_system(head) >= position; });
}

}  // namespace gyre::device
