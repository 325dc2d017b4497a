// Whether a slot belongs to the call that this rank is in: ranks that issue different calls must
// notice before they mix each other's data.
#pragma once

#include <cstdint>

#include "base/status.hpp"
#include "schedule/call.hpp"
#include "schedule/lane.hpp"

namespace gyre {

struct ExpectedSlot {
  CallTag tag;
  CallStamp stamp;
  std::uint64_t bytes = 0;
};

// The error that names both calls; kept apart, so that the check is a few instructions.
Error call_mismatch(const SlotHeader& header, const ExpectedSlot& expected, std::uint32_t peer,
                    std::uint32_t rank);

inline Result<void> expect_call(const SlotHeader& header, const ExpectedSlot& expected,
                                std::uint32_t peer, std::uint32_t rank) {
  const bool same = header.call == expected.tag.value && header.count == expected.stamp.value &&
                    header.bytes == expected.bytes;
  if (same) return {};
  return call_mismatch(header, expected, peer, rank);
}

}  // namespace gyre
