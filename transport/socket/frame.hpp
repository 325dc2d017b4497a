// What travels on a connection between two ranks: a header of 32 bytes, then the payload. Position
// p of a lane travels on stream p % streams, so that positions of one stream only grow by the
// number of streams, and a receiver knows which one comes next.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace gyre::socket {

inline constexpr std::uint32_t kDataFrame = 0x44525947;     // "GYRD"
inline constexpr std::uint32_t kGoodbyeFrame = 0x42525947;  // "GYRB": nothing follows

struct FrameHeader {
  std::uint64_t position = 0;
  std::uint64_t bytes = 0;
  std::uint64_t count = 0;
  std::uint32_t call = 0;
  std::uint32_t kind = kDataFrame;
};
inline constexpr std::size_t kFrameHeaderBytes = 32;
static_assert(sizeof(FrameHeader) == kFrameHeaderBytes);
static_assert(std::endian::native == std::endian::little, "frames are little-endian");

using FrameBytes = std::array<std::byte, kFrameHeaderBytes>;

inline FrameBytes encode(const FrameHeader& header) { return std::bit_cast<FrameBytes>(header); }

inline FrameHeader decode(std::span<const std::byte, kFrameHeaderBytes> bytes) {
  FrameHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  return header;
}

}  // namespace gyre::socket
