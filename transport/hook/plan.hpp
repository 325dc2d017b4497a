// GYRE_HOOK taken apart.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/clock.hpp"
#include "base/status.hpp"

namespace gyre::hook {

// "trace:FILE": one JSON line per slot is appended to FILE.
struct TracePlan {
  std::string file;
};

// "fault:key=value,...": what happens to slots that this rank sends. Positions count from 0 in each
// lane.
struct FaultPlan {
  std::optional<int> rank;                // only on this rank
  std::optional<int> peer;                // only towards this peer
  std::optional<std::uint64_t> drop;      // the slot at this position never leaves
  std::optional<std::uint64_t> corrupt;   // one bit of its payload is flipped
  std::optional<std::uint64_t> truncate;  // it loses the second half of its payload
  std::optional<std::uint64_t> close;     // the transport ends without a goodbye instead of it
  milliseconds delay{0};                  // "delay_ms": every slot leaves so much later
};

// "throttle:BYTES": payload bytes per second that this rank sends to each peer.
struct ThrottlePlan {
  std::uint64_t bytes_per_second = 0;
};

using Plan = std::variant<TracePlan, FaultPlan, ThrottlePlan>;

// Error invalid_argument: names what is wrong and what is allowed. Pure.
Result<Plan> parse(std::string_view text);

}  // namespace gyre::hook
