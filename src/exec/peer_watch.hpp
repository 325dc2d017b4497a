// What is known of the peers' lives. Written by the reactor's thread and by transports, read by the
// executor.
//
// Order: a state bit is set with release after the text was written under the mutex; `changed()` is
// one relaxed load on the executor's blocked path.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/bell.hpp"
#include "base/clock.hpp"
#include "transport/transport.hpp"

namespace gyre {

class PeerWatch final : public PeerEvents {
 public:
  // `names[r]`: "rank 3 (host h, pid 12)".
  PeerWatch(std::vector<std::string> names, BellRope bell);

  // The lanes with `peer` ended: what it had sent has arrived, more will not.
  void lost(int peer, std::string how) override;
  // They ended because it destroyed its communicator.
  void ended(int peer) override;
  // The control star says that the peer's process is gone.
  void gone(int peer, std::string how);
  // The peer destroyed its communicator in good order.
  void left(int peer);

  bool changed() const { return changed_.load(std::memory_order_relaxed); }
  bool lanes_ended(int peer) const { return has(peer, kLanesEnded); }
  // Who is at fault where the lanes of `peer` have ended: that peer if it destroyed its
  // communicator, else the first one that was lost, since others may have gone because of it.
  // Nobody for a moment, in which a word of who it was may come.
  std::optional<int> to_blame(int peer) const;
  // The peers below 64 that have destroyed their communicators, a bit each.
  std::uint64_t all_left() const;
  // The first peer whose process is gone without a word, once that is `age` old.
  std::optional<int> gone_for(milliseconds age) const;
  const std::string& name(int peer) const { return names_[static_cast<std::size_t>(peer)]; }
  // The error of a call that needs `peer`.
  Error loss_of(int peer, std::string_view doing) const;

 private:
  enum : std::uint8_t { kLanesEnded = 1, kGone = 2, kLeft = 4, kLost = 8 };
  bool has(int peer, std::uint8_t bit) const {
    return (states_[static_cast<std::size_t>(peer)].load(std::memory_order_acquire) & bit) != 0;
  }
  bool is_peer(int peer) const {
    return peer >= 0 && static_cast<std::size_t>(peer) < names_.size();
  }
  void mark(int peer, std::uint8_t bit, std::string how);

  std::vector<std::string> names_;
  BellRope bell_;
  std::unique_ptr<std::atomic<std::uint8_t>[]> states_;
  std::atomic<bool> changed_{false};
  mutable std::mutex mutex_;
  std::vector<std::string> how_;
  int first_lost_ = -1;
  std::vector<Clock::time_point> lost_at_;  // by peer
  int first_gone_ = -1;
  Clock::time_point gone_at_{};
};

}  // namespace gyre
