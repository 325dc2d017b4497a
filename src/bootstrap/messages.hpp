// The payloads of the frames, and their bounded codecs. Every decode() refuses what no encode()
// writes. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "bootstrap/awaited_peer.hpp"

namespace gyre {

// Two builds talk to each other only if theirs are equal. Sent in the first frame.
inline constexpr std::uint32_t kBootstrapVersion = 1;
inline constexpr std::size_t kMaxTextBytes = 4096;  // longer texts are cut
inline constexpr int kMaxWorld = 1 << 20;

struct JoinMessage {
  std::uint32_t version = kBootstrapVersion;
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::string identity;  // process_identity() of the sender

  bool operator==(const JoinMessage&) const = default;
};

struct PartMessage {
  std::string what;
  std::uint64_t patience_ms = 0;  // until the sender's deadline
  std::vector<std::byte> bytes;

  bool operator==(const PartMessage&) const = default;
};

// `announce`, `failure`, `refused`: rank is 0; `announced`: the rank that announced it.
struct ErrorMessage {
  std::uint32_t rank = 0;
  Error error;
};

// `lost`, `left`: a rank, and how it was lost.
struct RankMessage {
  std::uint32_t rank = 0;
  std::string how;

  bool operator==(const RankMessage&) const = default;
};

struct AnswerMessage {
  bool answered = false;
  std::uint64_t entered = 0;
  std::uint64_t finished = 0;
  std::uint32_t call = 0;
  std::uint64_t stamp = 0;
  AwaitedPeer awaited{};

  bool operator==(const AnswerMessage&) const = default;
};

std::vector<std::byte> encode(const JoinMessage& message);
std::vector<std::byte> encode(const PartMessage& message);
std::vector<std::byte> encode(const ErrorMessage& message);
std::vector<std::byte> encode(const RankMessage& message);
std::vector<std::byte> encode(const std::vector<AnswerMessage>& answers);  // of each rank
std::vector<std::byte> encode(const std::vector<std::vector<std::byte>>& parts);
std::vector<std::byte> encode_patience(std::uint64_t milliseconds);  // of `ask`

Result<JoinMessage> decode_join(std::span<const std::byte> payload);
Result<PartMessage> decode_part(std::span<const std::byte> payload);
Result<ErrorMessage> decode_error(std::span<const std::byte> payload);
Result<RankMessage> decode_rank(std::span<const std::byte> payload);
Result<std::vector<AnswerMessage>> decode_answers(std::span<const std::byte> payload);
Result<std::vector<std::vector<std::byte>>> decode_parts(std::span<const std::byte> payload);
Result<std::uint64_t> decode_patience(std::span<const std::byte> payload);

// "rank 3", "ranks 0, 2-5".
std::string text_of_ranks(std::span<const int> ranks);

}  // namespace gyre
