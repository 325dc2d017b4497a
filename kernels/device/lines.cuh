// Lines of a meeting (meeting.cuh): where they lie, and the first one of a channel, which says
// what call it is of.
#pragma once

#include "base/types.hpp"
#include "kernels/device/portable.cuh"
#include "kernels/device/work.hpp"
#include "schedule/call_kind.hpp"

namespace gyre::device {

// What a kernel is about, or a peer's message turned out to be.
struct Matter {
  std::uint64_t stamp;
  std::uint32_t tag;
  std::uint64_t bytes;
};

// Of meeting number `number` of a channel: never 0, and the same again after 2^31 - 1 of them. A
// line that lay unused for exactly so many is taken for a new one; nothing else can be.
__device__ inline std::uint32_t flag_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number % 0x7fff'ffff) + 1;
}
__device__ inline bool has_flag(const uint4& line, std::uint32_t flag) {
  return line.y == flag && line.w == flag;
}

// Where `sender` writes lines of a channel's exchange `number` in a rank's inbox.
__device__ inline uint4* lines_at(const Rank& rank, std::byte* inbox, std::uint64_t number,
                                  std::uint32_t channel, std::uint32_t sender) {
  const std::uint64_t buffer = number % kExchangeBuffers;
  const std::uint64_t row = (buffer * rank.world + sender) * rank.channels + channel;
  return reinterpret_cast<uint4*>(inbox) + row * (kExchangeLines + 1);
}

// A line of 8 bytes of data.
__device__ inline uint4 line_of(std::uint64_t data, std::uint32_t flag) {
  return make_uint4(static_cast<std::uint32_t>(data), flag, static_cast<std::uint32_t>(data >> 32),
                    flag);
}
__device__ inline std::uint64_t data_of(const uint4& line) {
  return static_cast<std::uint64_t>(line.z) << 32 | line.x;
}

// The bits of a first line's tag that are the call's number instead.
__device__ inline std::uint32_t number_bits(std::uint32_t tag) {
  return has_root(static_cast<CallKind>(tag >> 28)) ? 0 : 0xffff;
}

// A tag and a stamp (schedule/call.hpp) in one line: the low 32 bits of the count, and the call's
// number in the place of the root where it has none.
__device__ inline uint4 first_line(std::uint32_t tag, std::uint64_t stamp, std::uint32_t flag) {
  const std::uint32_t number = static_cast<std::uint32_t>(stamp >> 48) & number_bits(tag);
  return make_uint4(tag | number, flag, static_cast<std::uint32_t>(stamp), flag);
}
__device__ inline Matter matter_of(const uint4& first_line) {
  const std::uint32_t number = first_line.x & number_bits(first_line.x);
  const std::uint32_t tag = first_line.x - number;
  const auto type = static_cast<DataType>(tag >> 24 & 0xf);
  return {std::uint64_t{number} << 48 | first_line.z, tag,
          std::uint64_t{first_line.z} * size_of(type)};
}

}  // namespace gyre::device
