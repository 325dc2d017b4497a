// Lanes: one-directional bounded FIFOs between two ranks. The only thing that kernels, the host
// executor, socket pumps and transports share.
//
// Memory: `slots` headers of one cache line each, `slots * slot_bytes` bytes of data, and one
// credit line. Positions are 64-bit and only grow; position p uses slot p % slots.
//
// Who writes what, and with which order:
//   header.sequence  sender   store release p + 1 after payload and header are written.
//                    receiver load acquire; the slot holds position p iff sequence == p + 1.
//   credit.head      receiver store release p + 1 after it has read everything of position p.
//                    (Kernels store it relaxed after a barrier: kernels/device/waits.cuh.)
//                    sender   load acquire; position p may be filled iff p < head + slots.
//   header.location  (of an exchange's message) sender says what credit.head of the other lane
//                    says, having read that lane's slots; receiver reads it after the sequence.
//                    Transports that do not carry it leave it 0, which says nothing.
//   everything else of a header is written by the sender before its release store.
//
// A receiver that writes into the memory of the sender (an offer) claims the slot meanwhile: it
// sets kAtWork in the sequence. A sender that takes slots back marks such a one kRevoked and waits
// until the receiver is done with it. Each side keeps its own position privately; nothing that a
// peer wrote ever bounds a loop or an access without a check.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/cache_lines.hpp"

namespace gyre {

// Where the payload of a slot is.
enum class SlotKind : std::uint8_t {
  inlined = 0,  // in the header line itself: at most kInlineBytes
  staged = 1,   // in the slot's data
  mapped = 2,   // `location` bytes into shared region `region` of the sender
  address = 3,  // at address `location` of the sender's process (same process, or process_vm_readv)
  placed = 4,   // where the receiver of this slot offered to have it
};

inline constexpr std::uint64_t kInlineBytes = 24;

// In a sequence; positions stay below.
inline constexpr std::uint64_t kAtWork = std::uint64_t{1} << 63;
inline constexpr std::uint64_t kRevoked = std::uint64_t{1} << 62;

struct alignas(64) SlotHeader {
  std::atomic<std::uint64_t> sequence{0};
  std::uint64_t bytes = 0;  // payload of this slot
  std::uint64_t count = 0;  // count and number of the call (CallStamp), to catch disagreement
  std::uint32_t call = 0;   // packed signature of the call (CallTag), likewise
  SlotKind kind = SlotKind::inlined;
  std::uint8_t reserved[3] = {};
  // mapped, address. Of a message of an exchange: how far its sender has taken what came the other
  // way (LaneSender::hear_of).
  std::uint64_t location = 0;
  // mapped, address. The place is where the sender offers to have the result, in the same terms as
  // the payload; 0 and 0: nowhere.
  struct Reference {
    std::uint64_t region = 0;  // mapped
    std::uint64_t place_region = 0;
    std::uint64_t place_location = 0;
  };
  union {
    Reference reference;
    std::byte inline_data[kInlineBytes];
  };
  SlotHeader() : reference() {}

  bool by_reference() const { return kind == SlotKind::mapped || kind == SlotKind::address; }
  bool offers() const {
    return by_reference() && (reference.place_region != 0 || reference.place_location != 0);
  }
};
static_assert(sizeof(SlotHeader) == 64, "one cache line");

struct alignas(64) LaneCredit {
  std::atomic<std::uint64_t> head{0};
  std::uint64_t pad[7] = {};
};
static_assert(sizeof(LaneCredit) == 64);

// The POD view of a lane's memory.
struct LaneView {
  SlotHeader* headers = nullptr;
  std::byte* data = nullptr;
  LaneCredit* credit = nullptr;
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;

  SlotHeader& header(std::uint64_t position) const { return headers[position % slots]; }
  std::byte* slot(std::uint64_t position) const { return data + (position % slots) * slot_bytes; }

  // Bytes of memory a lane needs: credit, headers, data, in this order.
  static constexpr std::uint64_t memory_bytes(std::uint32_t slots, std::uint64_t slot_bytes) {
    return sizeof(LaneCredit) + slots * sizeof(SlotHeader) + slots * slot_bytes;
  }

  // Lays a lane out at `memory` (64-byte aligned, zeroed, memory_bytes() long).
  static LaneView at(std::byte* memory, std::uint32_t slots, std::uint64_t slot_bytes) {
    LaneView view;
    view.credit = reinterpret_cast<LaneCredit*>(memory);
    view.headers = reinterpret_cast<SlotHeader*>(memory + sizeof(LaneCredit));
    view.data = memory + sizeof(LaneCredit) + slots * sizeof(SlotHeader);
    view.slots = slots;
    view.slot_bytes = slot_bytes;
    return view;
  }
};

// The sending end: one thread at a time.
class LaneSender {
 public:
  LaneSender() = default;
  explicit LaneSender(LaneView view) : view_(view) {}

  const LaneView& view() const { return view_; }
  std::uint64_t position() const { return position_; }

  // Whether a slot is free. Refreshes the cached head only when needed.
  bool has_credit() {
    if (position_ - head_ < view_.slots) return true;
    head_ = view_.credit->head.load(std::memory_order_acquire);
    return position_ - head_ < view_.slots;
  }
  // Whether the receiver has taken everything.
  bool drained() {
    head_ = view_.credit->head.load(std::memory_order_acquire);
    return head_ == position_;
  }
  // Whether the receiver has taken everything below `position`.
  bool taken(std::uint64_t position) {
    if (head_ < position) head_ = view_.credit->head.load(std::memory_order_acquire);
    return head_ >= position;
  }
  // The receiver says that it has taken everything below `position`: it need not be asked, which
  // would cost both sides the credit line. Believed if it can be true.
  void hear_of(std::uint64_t position) {
    if (position - head_ <= position_ - head_) head_ = position;
  }
  SlotHeader& header() const { return view_.headers[index_]; }
  std::byte* slot() const { return view_.data + index_ * view_.slot_bytes; }
  // Takes back what was sent by reference and not yet taken, because its memory is about to change
  // (the call failed and returns to its user). A receiver that reads such a slot sees it by
  // LaneReceiver::still_there(): the mark is ordered before every later change of the memory. One
  // that writes must be waited for. Marked in one go, so that no claim slips in between.
  void revoke_references() {
    const std::uint64_t oldest = position_ - std::min<std::uint64_t>(position_, view_.slots);
    const std::uint64_t head = view_.credit->head.load(std::memory_order_acquire);
    for (std::uint64_t p = std::max(head, oldest); p < position_; ++p) {
      SlotHeader& header = view_.header(p);
      if (!header.by_reference()) continue;
      const bool at_work = (header.sequence.fetch_or(kRevoked) & kAtWork) != 0;
      if (!at_work) header.sequence.store(0, std::memory_order_release);
    }
  }
  // Whether the receiver still writes where a slot that was taken back offered.
  bool peer_at_work() const {
    for (std::uint32_t i = 0; i < view_.slots; ++i) {
      if ((view_.headers[i].sequence.load(std::memory_order_acquire) & kRevoked) != 0) return true;
    }
    return false;
  }
  // Publishes the slot that was just filled. The caller rings the receiver's bell afterwards.
  // The next header is not claimed ahead, unlike payloads: measured, a small all-reduce took 0.57
  // instead of 0.44 us between cores that share no cache, and 0.23 instead of 0.20 otherwise.
  void post() {
    header().sequence.store(position_ + 1, std::memory_order_release);
    ++position_;
    if (++index_ == view_.slots) index_ = 0;
  }
  // Claims the front of the next slot for a payload like the last one: as much as a small message
  // has.
  void claim_slot(std::uint64_t bytes) const {
    constexpr std::uint64_t kMost = 1024;
    claim_lines(slot(), std::min(bytes, kMost));
  }

 private:
  LaneView view_;
  std::uint64_t position_ = 0;
  std::uint64_t head_ = 0;
  std::uint32_t index_ = 0;  // position_ % slots: divisions would be half of a small call
};

// The receiving end: one thread at a time.
class LaneReceiver {
 public:
  LaneReceiver() = default;
  explicit LaneReceiver(LaneView view) : view_(view) {}

  const LaneView& view() const { return view_; }
  std::uint64_t position() const { return position_; }

  // The filled slot at the front, or null.
  const SlotHeader* front() const {
    return header().sequence.load(std::memory_order_acquire) == position_ + 1 ? &header() : nullptr;
  }
  // The header at the front, filled or not.
  SlotHeader& header() const { return view_.headers[index_]; }
  // Whether the front slot, whose payload was read by reference, was not taken back meanwhile. A
  // read-modify-write, so that the reads of the payload come before it.
  bool still_there() const {
    return header().sequence.fetch_add(0, std::memory_order_acq_rel) == position_ + 1;
  }
  // Before and after writing where the front slot offers. Whether the slot was still there.
  bool claim() {
    std::uint64_t expected = position_ + 1;
    return header().sequence.compare_exchange_strong(expected, expected | kAtWork);
  }
  bool finish_claim() {
    std::uint64_t expected = (position_ + 1) | kAtWork;
    if (header().sequence.compare_exchange_strong(expected, position_ + 1)) return true;
    header().sequence.store(0, std::memory_order_release);
    return false;
  }
  const std::byte* slot() const { return view_.data + index_ * view_.slot_bytes; }
  // Gives the slot back. The caller rings the sender's bell afterwards.
  void release() {
    ++position_;
    if (++index_ == view_.slots) index_ = 0;
    view_.credit->head.store(position_, std::memory_order_release);
  }

 private:
  LaneView view_;
  std::uint64_t position_ = 0;
  std::uint32_t index_ = 0;  // position_ % slots
};

}  // namespace gyre
