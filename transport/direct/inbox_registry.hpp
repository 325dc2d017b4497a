// The inboxes of the ranks that live in this process, by communicator and rank.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/bell.hpp"
#include "base/fd.hpp"
#include "base/memory.hpp"
#include "bootstrap/job_key.hpp"
#include "transport/inbox.hpp"
#include "transport/transport.hpp"

namespace gyre::direct {

// Which position a receiver reads in place from its peer's memory: position + 1 from locate() until
// the slot's release; 0 if none. Written by the receiver, read by a sender that leaves without
// waiting (abort), so that it does not pull its memory away from under the reader.
struct alignas(64) ReadMark {
  std::atomic<std::uint64_t> position{0};
};

// Owned together by the rank and its peers, so that lanes outlive whichever leaves first. The lanes
// are laid out by whoever comes first, the owner or a peer.
class Inbox {
 public:
  explicit Inbox(const TransportContext& context);

  // Maps or duplicates what peers need to ring the owner's bell.
  Result<void> open();
  // Lays the lanes out, one for each of `ranks` (sorted). Later calls change nothing.
  Result<void> lay_out(std::span<const int> ranks);

  // The lane that ends here and comes from `peer`; empty if there is none.
  std::optional<LaneView> lane_from(int peer);
  ReadMark* mark_of(int peer);
  const BellRope& bell() const { return bell_; }
  bool closed() const { return closed_.load(std::memory_order_seq_cst); }

  // The owner stops: nobody is told through it any more.
  void close();
  // Tells the owner, unless it closed, that `peer` left without a goodbye.
  void tell_lost(int peer, std::string how);
  // The same of one that said goodbye.
  void tell_ended(int peer);

 private:
  std::optional<std::uint32_t> index_of(int peer) const;

  InboxLayout layout_;
  BellRope bell_;
  const Fd* bell_segment_;
  Mapping bell_memory_;
  Fd bell_event_;
  std::atomic<bool> closed_{false};

  std::mutex mutex_;  // everything below
  PeerEvents* events_;
  std::vector<int> ranks_;
  std::unique_ptr<ReadMark[]> marks_;
  Mapping memory_;
};

// A random number of this process; another one in a forked child.
Nonce process_nonce();

// Registers; error if this rank of this communicator is registered already.
Result<void> register_inbox(const JobKey& key, int rank, std::shared_ptr<Inbox> inbox);
void forget_inbox(const JobKey& key, int rank, const Inbox* inbox);
std::shared_ptr<Inbox> find_inbox(const JobKey& key, int rank);

}  // namespace gyre::direct
