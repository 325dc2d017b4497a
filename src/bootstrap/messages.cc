#include "bootstrap/messages.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "bootstrap/wire.hpp"

namespace gyre {
namespace {

Error malformed(std::string_view what) {
  return {Status::internal, fmt::format("a peer sent a malformed {} message", what)};
}

std::string_view cut(std::string_view text) { return text.substr(0, kMaxTextBytes); }

constexpr std::size_t kAnyLength = 0xffffffff;  // the frame bounds it
constexpr std::uint8_t kLastStatus = static_cast<std::uint8_t>(Status::internal);

}  // namespace

std::vector<std::byte> encode(const JoinMessage& message) {
  WireWriter writer;
  writer.number(message.version);
  writer.number(message.rank);
  writer.number(message.world);
  writer.text(cut(message.identity));
  return writer.take();
}

Result<JoinMessage> decode_join(std::span<const std::byte> payload) {
  WireReader reader(payload);
  JoinMessage message;
  message.version = reader.number<std::uint32_t>();
  // The rest may look different in another version; the sender will be told about the difference.
  if (!reader.failed() && message.version != kBootstrapVersion) return message;
  message.rank = reader.number<std::uint32_t>();
  message.world = reader.number<std::uint32_t>();
  message.identity = reader.text(kMaxTextBytes);
  if (!reader.complete()) return malformed("join");
  if (message.world == 0 || message.world > static_cast<std::uint32_t>(kMaxWorld) ||
      message.rank >= message.world) {
    return malformed("join");
  }
  return message;
}

std::vector<std::byte> encode(const PartMessage& message) {
  WireWriter writer;
  writer.reserve(16 + message.what.size() + message.bytes.size());
  writer.text(cut(message.what));
  writer.number(message.patience_ms);
  writer.sized(message.bytes);
  return writer.take();
}

Result<PartMessage> decode_part(std::span<const std::byte> payload) {
  WireReader reader(payload);
  PartMessage message;
  message.what = reader.text(kMaxTextBytes);
  message.patience_ms = reader.number<std::uint64_t>();
  const auto bytes = reader.sized(kAnyLength);
  message.bytes.assign(bytes.begin(), bytes.end());
  if (!reader.complete()) return malformed("part");
  return message;
}

std::vector<std::byte> encode(const ErrorMessage& message) {
  WireWriter writer;
  writer.number(message.rank);
  writer.number(static_cast<std::uint8_t>(message.error.status));
  writer.text(cut(message.error.text));
  return writer.take();
}

Result<ErrorMessage> decode_error(std::span<const std::byte> payload) {
  WireReader reader(payload);
  ErrorMessage message;
  message.rank = reader.number<std::uint32_t>();
  const auto status = reader.number<std::uint8_t>();
  message.error.text = reader.text(kMaxTextBytes);
  if (!reader.complete() || status == 0 || status > kLastStatus) return malformed("error");
  message.error.status = static_cast<Status>(status);
  return message;
}

std::vector<std::byte> encode(const RankMessage& message) {
  WireWriter writer;
  writer.number(message.rank);
  writer.text(cut(message.how));
  return writer.take();
}

Result<RankMessage> decode_rank(std::span<const std::byte> payload) {
  WireReader reader(payload);
  RankMessage message;
  message.rank = reader.number<std::uint32_t>();
  message.how = reader.text(kMaxTextBytes);
  if (!reader.complete()) return malformed("rank");
  return message;
}

std::vector<std::byte> encode(const std::vector<AnswerMessage>& answers) {
  WireWriter writer;
  writer.number(static_cast<std::uint32_t>(answers.size()));
  for (const AnswerMessage& answer : answers) {
    writer.number(static_cast<std::uint8_t>(answer.answered ? 1 : 0));
    writer.number(answer.entered);
    writer.number(answer.finished);
    writer.number(answer.call);
    writer.number(answer.stamp);
    writer.number(static_cast<std::uint32_t>(answer.awaited.peer));
    writer.number(answer.awaited.sent);
    writer.number(answer.awaited.taken);
    writer.number(answer.awaited.call);
    writer.number(answer.awaited.stamp);
  }
  return writer.take();
}

Result<std::vector<AnswerMessage>> decode_answers(std::span<const std::byte> payload) {
  WireReader reader(payload);
  const auto count = reader.number<std::uint32_t>();
  std::vector<AnswerMessage> answers;
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
    const auto answered = reader.number<std::uint8_t>();
    if (answered > 1) return malformed("answers");
    AnswerMessage answer;
    answer.answered = answered == 1;
    answer.entered = reader.number<std::uint64_t>();
    answer.finished = reader.number<std::uint64_t>();
    answer.call = reader.number<std::uint32_t>();
    answer.stamp = reader.number<std::uint64_t>();
    answer.awaited.peer = static_cast<std::int32_t>(reader.number<std::uint32_t>());
    answer.awaited.sent = reader.number<std::uint64_t>();
    answer.awaited.taken = reader.number<std::uint64_t>();
    answer.awaited.call = reader.number<std::uint32_t>();
    answer.awaited.stamp = reader.number<std::uint64_t>();
    answers.push_back(answer);
  }
  if (!reader.complete()) return malformed("answers");
  return answers;
}

std::vector<std::byte> encode(const std::vector<std::vector<std::byte>>& parts) {
  WireWriter writer;
  std::size_t bytes = 4;
  for (const auto& part : parts) bytes += 4 + part.size();
  writer.reserve(bytes);
  writer.number(static_cast<std::uint32_t>(parts.size()));
  for (const auto& part : parts) writer.sized(part);
  return writer.take();
}

Result<std::vector<std::vector<std::byte>>> decode_parts(std::span<const std::byte> payload) {
  WireReader reader(payload);
  const auto count = reader.number<std::uint32_t>();
  std::vector<std::vector<std::byte>> parts;
  for (std::uint32_t i = 0; i < count && !reader.failed(); ++i) {
    const auto bytes = reader.sized(kAnyLength);
    parts.emplace_back(bytes.begin(), bytes.end());
  }
  if (!reader.complete()) return malformed("whole");
  return parts;
}

std::vector<std::byte> encode_patience(std::uint64_t milliseconds) {
  WireWriter writer;
  writer.number(milliseconds);
  return writer.take();
}

Result<std::uint64_t> decode_patience(std::span<const std::byte> payload) {
  WireReader reader(payload);
  const auto milliseconds = reader.number<std::uint64_t>();
  if (!reader.complete()) return malformed("ask");
  return milliseconds;
}

std::string text_of_ranks(std::span<const int> ranks) {
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < ranks.size();) {
    std::size_t end = i + 1;
    while (end < ranks.size() && ranks[end] == ranks[end - 1] + 1) ++end;
    runs.push_back(end - i > 2 ? fmt::format("{}-{}", ranks[i], ranks[end - 1])
                               : fmt::format("{}", fmt::join(ranks.subspan(i, end - i), ", ")));
    i = end;
  }
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(runs, ", "));
}

}  // namespace gyre
