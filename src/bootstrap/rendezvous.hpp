// How ranks that share an id meet: all come, each with its facts; all leave with everybody's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"
#include "bootstrap/attendance.hpp"
#include "bootstrap/job_key.hpp"
#include "bootstrap/unique_id.hpp"

namespace gyre {

inline constexpr std::size_t kMaxFactsBytes = 64 << 10;

// Blocks until the facts of all `world` ranks are there and returns them by rank. Fails on every
// rank that came, with the same reason, when
//   ranks are missing at the earliest deadline of those present (timeout; lists them),
//   a rank reported a failure, died, or aborted (its reason; peer_lost),
//   two processes claim one rank, or name different worlds or versions (invalid_usage; names both).
// An id that failed stays failed; try again with a new one (or the same fixed port). Any thread,
// several at once; ends within 50 ms of an abort.
Result<std::vector<std::vector<std::byte>>> rendezvous(const UniqueId& id, int rank, int world,
                                                       std::span<const std::byte> facts,
                                                       Deadline deadline, const AbortState* abort);

// The same, with a key of this very meeting that only its ranks know: an id (a fixed port above
// all) may be met at again, and the connections of two meetings must never be taken for each
// other's. The place there is kept until the caller is connected by other means; letting go of it
// without a goodbye tells the others that this rank was lost.
struct Meeting {
  std::vector<std::vector<std::byte>> facts;
  JobKey session;
  std::unique_ptr<Attendance> attendance;
};
Result<Meeting> meet(const UniqueId& id, int rank, int world, std::span<const std::byte> facts,
                     Deadline deadline, const AbortState* abort);

// The same where the id is found out of band and may be one of an earlier run: `read_id` is asked
// again (busy: nothing there yet) whenever the last id led nowhere, until the deadline.
using ReadId = std::function<Result<UniqueId>()>;
Result<Meeting> meet_at(const ReadId& read_id, int rank, int world,
                        std::span<const std::byte> facts, Deadline deadline,
                        const AbortState* abort);

// Called instead of rendezvous() by a rank that cannot take part: the others get `error` at once.
Result<void> report_failure(const UniqueId& id, int rank, int world, const Error& error,
                            Deadline deadline);

}  // namespace gyre
