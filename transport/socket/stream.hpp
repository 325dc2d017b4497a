// One TCP connection between two ranks: sends its share of the posted slots of a lane, and receives
// into the free slots of another. Never blocks; one thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "schedule/lane.hpp"
#include "transport/socket/frame.hpp"

namespace gyre::socket {

class Stream {
 public:
  // Carries the positions first, first + streams, first + 2 * streams ...
  Stream(Fd socket, std::uint64_t first, std::uint32_t streams)
      : socket_(std::move(socket)), streams_(streams), out_position_(first), in_position_(first) {}

  // Sends posted slots of `lane` until there are none or the socket is full; whether any byte went.
  // A broken connection is not an error here: pull() tells its end and why, after what had arrived.
  // Error: a payload that cannot be sent (memory that is not there, say).
  Result<bool> push(const LaneView& lane);
  // Receives into free slots of `lane`. Error: bytes that no rank of ours sends.
  Result<bool> pull(const LaneView& lane);
  // Sends the goodbye frame (after everything posted) and ends this direction; true when done.
  bool push_goodbye();
  // Reads some and throws it away; true when the peer has ended its direction.
  bool discard();

  // Everything below was sent; the sender's slots of smaller positions are free again.
  std::uint64_t next_out() const { return out_position_; }
  bool wants_write() const { return full_; }
  bool wants_read() const { return !ended_ && !no_slot_; }
  bool ended() const { return ended_; }
  bool said_goodbye() const { return goodbye_; }
  const std::string& how() const { return how_; }
  int fd() const { return socket_.get(); }

 private:
  // Small frames are read many at a time; of a large one at most this much is copied twice.
  static constexpr std::size_t kBufferBytes = 4096;

  Result<bool> take_buffered(const LaneView& lane);
  Result<bool> begin_frame(const LaneView& lane);
  void finish_frame(const LaneView& lane);
  std::byte* destination(const LaneView& lane) const;
  ssize_t read_more(const LaneView& lane);
  void end(std::string how);
  Result<bool> failed_send(const LaneView& lane, int error, bool moved);

  Fd socket_;
  std::uint32_t streams_;

  std::uint64_t out_position_;
  std::uint64_t out_offset_ = 0;  // bytes of its frame that were sent
  bool full_ = false;             // the socket took less than there is
  bool broken_ = false;           // the peer takes nothing more
  int send_error_ = 0;            // why

  std::uint64_t in_position_;
  FrameHeader in_header_;
  bool in_frame_ = false;        // in_header_ is valid, its payload is being received
  std::uint64_t in_offset_ = 0;  // bytes of the payload that arrived
  std::array<std::byte, kBufferBytes> buffer_;
  std::size_t begin_ = 0, end_ = 0;  // of what is in buffer_
  bool no_slot_ = false;
  bool goodbye_ = false;
  bool ended_ = false;
  std::string how_;
};

// Settings of a lane's connection: no delay, keep-alive, and congestion control ("auto": cubic
// where this process may choose it, since BBR halves large loopback and data-centre flows). No
// limit for bytes under way: a stopped rank, or one that computes, may leave them for as long as it
// likes. That its machine has gone meanwhile is seen by its control connection.
void tune(const Fd& socket, const std::string& congestion);

}  // namespace gyre::socket
