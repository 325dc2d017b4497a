// Lines of an exchange (exchange.cuh): where they lie, and the first one of a channel, which says
// what call it is of.
#pragma once

#include "base/types.hpp"
#include "kernels/device/portable.cuh"
#include "kernels/device/work.hpp"

namespace gyre::device {

// What a kernel is about, or a peer's message turned out to be.
struct Matter {
  std::uint64_t stamp;
  std::uint32_t tag;
  std::uint64_t bytes;
};

// Of exchange number `number` of a channel: never 0, and not that of the one before in its buffer.
__device__ inline std::uint32_t flag_of(std::uint64_t number) {
  return static_cast<std::uint32_t>(number % 0x7fff'ffff) + 1;
}
__device__ inline bool has_flag(const uint4& line, std::uint32_t flag) {
  return line.y == flag && line.w == flag;
}

// Where `sender` writes lines of a channel's exchange `number` at `receiver`.
__device__ inline uint4* lines_at(const Rank& rank, std::uint64_t number, std::uint32_t channel,
                                  std::uint32_t receiver, std::uint32_t sender) {
  const std::uint64_t buffer = number % kExchangeBuffers;
  const std::uint64_t row = (buffer * rank.world + sender) * rank.channels + channel;
  return reinterpret_cast<uint4*>(rank.exchange.inboxes[receiver]) + row * (kExchangeLines + 1);
}

// All of a tag and a stamp (schedule/call.hpp) in one line: an all-reduce has no root, so its place
// in the tag is taken by the call's number, and a count that is exchanged has 32 bits.
__device__ inline uint4 first_line(std::uint32_t tag, std::uint64_t stamp, std::uint32_t flag) {
  return make_uint4(tag | static_cast<std::uint32_t>(stamp >> 48), flag,
                    static_cast<std::uint32_t>(stamp), flag);
}
__device__ inline Matter matter_of(const uint4& first_line) {
  const std::uint32_t tag = first_line.x & ~0xffffU;
  const auto type = static_cast<DataType>(tag >> 24 & 0xf);
  return {std::uint64_t{first_line.x & 0xffff} << 48 | first_line.z, tag,
          std::uint64_t{first_line.z} * size_of(type)};
}

}  // namespace gyre::device
