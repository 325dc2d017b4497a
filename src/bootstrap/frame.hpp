// Frames: what travels on rendezvous and control connections once the handshake is done.
//
//   offset  size  field (little endian)
//   0       4     payload bytes
//   4       2     type (FrameType)
//   6       2     zero
//   8       8     sequence: which all-gather or question it belongs to, else 0
//   16            payload
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/status.hpp"

namespace gyre {

enum class FrameType : std::uint16_t {
  join = 1,   // spoke: who I am; the first frame of every connection
  part,       // spoke: my part of an all-gather
  announce,   // spoke: I failed
  goodbye,    // spoke: my end of connection is no loss
  ask,        // spoke: how far is everybody?
  answer,     // spoke: as far as this
  whole,      // hub: all parts of an all-gather
  failure,    // hub: an all-gather failed
  announced,  // hub: a rank failed
  lost,       // hub: a rank's connection ended
  left,       // hub: a rank said goodbye
  question,   // hub: how far are you?
  answers,    // hub: what everybody answered
  refused,    // hub: you cannot join
};
inline constexpr std::uint16_t kLastFrameType = static_cast<std::uint16_t>(FrameType::refused);
inline constexpr std::size_t kFrameHeaderBytes = 16;

struct Frame {
  FrameType type = FrameType::join;
  std::uint64_t sequence = 0;
  std::vector<std::byte> payload;

  bool operator==(const Frame&) const = default;
};

// Encoded once, queued on any number of connections.
using SharedBytes = std::shared_ptr<const std::vector<std::byte>>;
SharedBytes encode(FrameType type, std::uint64_t sequence, std::span<const std::byte> payload);

// Cuts a stream of bytes into frames. Pure; memory grows with the bytes that came, never with a
// length that a peer merely claims.
class FrameDecoder {
 public:
  explicit FrameDecoder(std::size_t max_payload) : max_payload_(max_payload) {}

  void feed(std::span<const std::byte> bytes);
  // The next whole frame, none yet, or an error (which stays) if the bytes are no frames.
  Result<std::optional<Frame>> next();

 private:
  std::size_t max_payload_;
  std::vector<std::byte> buffer_;
  std::size_t used_ = 0;  // bytes at the front of buffer_ that were handed out
};

}  // namespace gyre
