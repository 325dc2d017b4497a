// Both lanes of a pair that talks over TCP. The executor sees two rings in this process's memory;
// pump() is the other end of both.
#pragma once

#include <poll.h>

#include <memory>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/memory.hpp"
#include "transport/socket/stream.hpp"
#include "transport/transport.hpp"

namespace gyre::socket {

class SocketLink final : public Link {
 public:
  // `memory` holds both lanes and lives as long as the link.
  SocketLink(int peer, std::vector<Stream> streams, std::shared_ptr<const Mapping> memory,
             LaneView out, LaneView in, std::uint64_t refer_from);

  // Large payloads are sent from where they lie.
  bool refer(const std::byte* data, std::uint64_t bytes, bool by_call, SlotHeader& header) override;

  int peer() const { return peer_; }

  // Sends and receives what is possible; streams that wait for their socket only if `ready` says
  // so (one entry per stream, or empty: try all). Error: a frame that no rank of ours sends, or a
  // payload that cannot be sent; the text names the peer.
  Result<bool> pump(std::span<const pollfd> ready);
  // One entry per stream, with fd -1 where pump() waits for nothing.
  void interest(std::vector<pollfd>& fds) const;
  bool flushed() const override;
  // Set once: the peer's direction ended without a goodbye, and all that had come is in slots.
  bool lost(std::string& how);
  // Set once: it ended with a goodbye.
  bool left();

  // Copies payloads that are still unsent out of the caller's memory into their slots.
  void own_payloads();
  // Sends the rest, the goodbyes, and waits for the peer's end; true when all is done.
  bool finish();
  // What finish() waits for on stream `index`: poll(2) events, 0 if that stream is done.
  short finish_events(std::size_t index) const;
  std::size_t streams() const { return streams_.size(); }
  int fd(std::size_t index) const { return streams_[index].fd(); }

 private:
  void publish_credit();

  int peer_;
  std::vector<Stream> streams_;
  std::vector<bool> said_;  // finish(): this stream's direction was ended
  std::vector<bool> over_;  // finish(): the peer's was, too
  std::shared_ptr<const Mapping> memory_;
  std::uint64_t refer_from_;
  bool lost_ = false;
  bool left_ = false;
  Clock::time_point first_end_{};
};

}  // namespace gyre::socket
