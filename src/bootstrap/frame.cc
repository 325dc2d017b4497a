#include "bootstrap/frame.hpp"

#include <fmt/format.h>

#include "bootstrap/wire.hpp"

namespace gyre {

SharedBytes encode(FrameType type, std::uint64_t sequence, std::span<const std::byte> payload) {
  WireWriter writer;
  writer.reserve(kFrameHeaderBytes + payload.size());
  writer.number(static_cast<std::uint32_t>(payload.size()));
  writer.number(static_cast<std::uint16_t>(type));
  writer.number(std::uint16_t{0});
  writer.number(sequence);
  writer.raw(payload);
  return std::make_shared<const std::vector<std::byte>>(writer.take());
}

void FrameDecoder::feed(std::span<const std::byte> bytes) {
  if (used_ > 0) {
    buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(used_));
    used_ = 0;
  }
  buffer_.insert(buffer_.end(), bytes.begin(), bytes.end());
}

Result<std::optional<Frame>> FrameDecoder::next() {
  const auto available = std::span(buffer_).subspan(used_);
  if (available.size() < kFrameHeaderBytes) return std::optional<Frame>();
  WireReader reader(available);
  const auto length = reader.number<std::uint32_t>();
  const auto type = reader.number<std::uint16_t>();
  const auto zero = reader.number<std::uint16_t>();
  const auto sequence = reader.number<std::uint64_t>();
  if (type == 0 || type > kLastFrameType || zero != 0) {
    return Error{Status::internal, fmt::format("a peer sent a frame of unknown type {}", type)};
  }
  if (length > max_payload_) {
    return Error{Status::internal, fmt::format("a peer sent a frame of {} bytes, {} are allowed",
                                               length, max_payload_)};
  }
  const auto payload = reader.raw(length);
  if (reader.failed()) return std::optional<Frame>();
  used_ += kFrameHeaderBytes + length;
  return std::optional<Frame>(
      Frame{static_cast<FrameType>(type), sequence, {payload.begin(), payload.end()}});
}

}  // namespace gyre
