// What a rank was asked to do, in the terms of the collectives; the same value on every rank but
// for the pointers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "schedule/call_kind.hpp"

namespace gyre {

// Per-rank counts and offsets of the v-variants, in elements.
struct BlockTable {
  std::vector<std::uint64_t> send_counts, send_offsets, receive_counts, receive_offsets;
};

struct Call {
  CallKind kind = CallKind::all_reduce;
  DataType type = DataType::float32;
  ReduceOp op = ReduceOp::sum;
  int root = 0;             // root, or the peer of a send or receive
  std::uint64_t count = 0;  // elements, in the meaning of the nccl.h function
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  double scale = 1.0;            // premulsum: this rank's factor ...
  std::uint64_t scale_bits = 0;  // ... and its bits in the element's type (64-bit integers)
  const void* scalar = nullptr;  // or where the factor is found when the call runs
  std::shared_ptr<const BlockTable> blocks;
};

// A packed signature that rides in every slot, so that ranks which disagree about a call notice.
// Sends and receives share one kind; their root differs by nature and is left out.
struct CallTag {
  std::uint32_t value = 0;

  static CallTag of(const Call& call) {
    const bool point_to_point = call.kind == CallKind::send || call.kind == CallKind::receive;
    const auto kind = static_cast<std::uint32_t>(point_to_point ? CallKind::send : call.kind);
    const auto op = reduces(call.kind) ? static_cast<std::uint32_t>(call.op) : 0U;
    const auto root = point_to_point ? 0U : static_cast<std::uint32_t>(call.root);
    return {kind << 28 | static_cast<std::uint32_t>(call.type) << 24 | op << 20 |
            (root & 0xfffffU)};
  }
  CallKind kind() const { return static_cast<CallKind>(value >> 28); }
  DataType type() const { return static_cast<DataType>(value >> 24 & 0xf); }
  ReduceOp op() const { return static_cast<ReduceOp>(value >> 20 & 0xf); }
  int root() const { return static_cast<int>(value & 0xfffff); }
};

// What rides beside the tag: the count, and the call's number among the communicator's collectives
// (from 1; 0 for messages, whose order differs by rank). The number catches ranks that are one call
// apart when both calls look alike. 48 and 16 bits.
struct CallStamp {
  std::uint64_t value = 0;

  static CallStamp of(std::uint64_t count, std::uint64_t number) {
    return {number << 48 | (count & ((std::uint64_t{1} << 48) - 1))};
  }
  std::uint64_t count() const { return value & ((std::uint64_t{1} << 48) - 1); }
  std::uint64_t number() const { return value >> 48; }
};

}  // namespace gyre
