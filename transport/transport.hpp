// The interface that every transport implements: it makes lanes, and moves their bytes where memory
// alone does not. It knows no collectives.
//
// Life at init, on the communicator's thread, for every transport in order of preference:
//   offer()    -> blob; the blobs of all ranks are exchanged in one all-gather
//   reaches()  -> is this peer worth trying? (a hint; pure and symmetrical)
//   connect()  -> tries the peers; the verdicts are all-gathered, and a pair uses the transport
//                 only if both ends succeeded
//   keep()     -> the agreed peers; everything made for others is dropped
// Then link(peer) gives the lanes, and the executor drives poll().
#pragma once

#include <poll.h>

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/abort.hpp"
#include "base/bell.hpp"
#include "base/clock.hpp"
#include "base/settings.hpp"
#include "base/status.hpp"
#include "base/store_route.hpp"
#include "bootstrap/job_key.hpp"
#include "schedule/lane.hpp"

namespace gyre {

using Blob = std::vector<std::byte>;

// Told of what happens to peers. Called on the reactor's thread or on the executor's; must not
// block.
class PeerEvents {
 public:
  virtual ~PeerEvents() = default;
  // The peer's descriptors ended: it died, or left without a word. `how` completes the sentence
  // "rank 3 (host h, pid 12) …", e.g. "closed its connection".
  virtual void lost(int peer, std::string how) = 0;
  // The peer said goodbye and its lanes have ended: all it had sent has arrived. A loss only to a
  // call that needs more of it.
  virtual void ended(int peer) { (void)peer; }
};

// What a transport may use of its communicator; all of it outlives the transport.
struct TransportContext {
  int rank = 0;
  int world = 1;
  JobKey key;  // names and protects this communicator's connections
  const Settings* settings = nullptr;
  const AbortState* abort = nullptr;
  const BellEnd* bell = nullptr;     // wakes this rank's executor
  const Fd* bell_segment = nullptr;  // memfd whose first bytes are the bell's word; may be empty
  PeerEvents* events = nullptr;
};

// Both lanes between this rank and one peer, and what the path can do. The executor's thread alone
// uses it (one thread at a time).
class Link {
 public:
  virtual ~Link() = default;

  LaneSender send;
  LaneReceiver receive;
  // Rung after posting to `send` or releasing from `receive`; no word: nobody to wake, the
  // transport's poll() moves the bytes.
  BellRope peer_bell;
  bool bell_due = false;  // see exec/due_bells.hpp
  // Whether everything posted to `send` has left this process (wires only; memory: true).
  virtual bool flushed() const { return true; }
  // Position after the last slot sent by reference: a call ends only when the peer has taken it.
  std::uint64_t referred_until = 0;
  // Into the slots of `send`, and into the memory that the peer offers.
  StoreRoute to_slots, to_places;

  // Tries to fill `header` (kind, location, region) so that the peer reads `bytes` at `data` in
  // place instead of through a slot. `by_call`: a read that costs the peer system calls is worth
  // it. The caller keeps the bytes unchanged until the slot was released. False: copy into the
  // slot.
  virtual bool refer(const std::byte* data, std::uint64_t bytes, bool by_call, SlotHeader& header) {
    (void)data, (void)bytes, (void)by_call, (void)header;
    return false;
  }
  // The same for a region (transport/shm/region.hpp), whatever its size.
  virtual bool refer_region(const std::byte* data, std::uint64_t bytes, SlotHeader& header) {
    (void)data, (void)bytes, (void)header;
    return false;
  }
  // Whether refer_region() may succeed.
  virtual bool maps_regions() const { return false; }

  // Adds to a header that refer() filled where the peer may write its result of `bytes`, if it can.
  virtual void offer(std::byte* place, std::uint64_t bytes, SlotHeader& header) {
    (void)place, (void)bytes, (void)header;
  }
  // Where the place that a received header offers lies here, `bytes` long, or null: the result is
  // sent as usual.
  virtual std::byte* place(const SlotHeader& header, std::uint64_t bytes) {
    (void)header, (void)bytes;
    return nullptr;
  }

  // Whether what locate() gives of the peer's memory is mapped only as long as the peer keeps it.
  virtual bool shares_process() const { return false; }

  // Where `bytes` of the payload of a received slot can be read, or null if it must be fetched (or
  // is not mapped yet: fetch() waits for that). Checks everything the peer wrote against bounds.
  // `bytes` is what the caller read of header.bytes, once: the peer may write there again.
  virtual const std::byte* locate(const SlotHeader& header, std::uint64_t bytes) const {
    switch (header.kind) {
      case SlotKind::inlined:
        return bytes <= kInlineBytes ? header.inline_data : nullptr;
      case SlotKind::staged:
        return bytes <= receive.view().slot_bytes ? receive.slot() : nullptr;
      default:
        return nullptr;
    }
  }

  // Copies `bytes` of the payload to `into` where locate() gave null.
  virtual Result<void> fetch(const SlotHeader& header, std::uint64_t bytes, std::byte* into) {
    (void)header, (void)bytes, (void)into;
    return Error{Status::internal, "a slot's payload cannot be read over this transport"};
  }

  // Asked after the payload of a received slot was read where it lies: whether that was the peer's
  // memory all the while.
  virtual Result<void> intact(const SlotHeader& header) const {
    (void)header;
    return {};
  }
};

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::string_view name() const = 0;
  virtual Result<Blob> offer() = 0;
  virtual bool reaches(int peer, const Blob& mine, const Blob& theirs) const = 0;
  // `blobs[r]` is rank r's. Returns one verdict per entry of `peers`; a failure to reach a peer is
  // a false verdict (logged once, with the reason), not an error.
  virtual Result<std::vector<bool>> connect(std::span<const int> peers, std::span<const Blob> blobs,
                                            Deadline deadline) = 0;
  virtual void keep(std::span<const int> peers) = 0;
  virtual Link* link(int peer) = 0;

  // Whether poll() has anything to do: false for transports whose lanes are plain memory.
  virtual bool polls() const { return false; }
  // Moves what can be moved without blocking; whether anything moved. Executor's thread.
  virtual Result<bool> poll() { return false; }
  // Appends the descriptors on which poll() could make progress.
  virtual void descriptors(std::vector<pollfd>& fds) const { (void)fds; }
  // Whether everything posted has left this process's lanes (wires only; memory lanes: true).
  virtual bool flushed() const { return true; }
  // No call is running, so that no slot refers to anything: peers are told of regions that ended
  // meanwhile, and theirs that did are unmapped. Executor's thread.
  virtual void between_calls() {}
  // Local and immediate: nothing is waited for. With `goodbye`, bytes already posted still arrive.
  virtual void close(bool goodbye) = 0;
};

}  // namespace gyre
