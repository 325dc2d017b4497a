// Connecting to another process's listener.
#pragma once

#include <span>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/job_key.hpp"

namespace gyre {

// Tries all candidates side by side (each a moment after the one before, at once when that failed),
// handshake included, and returns the first connection whose listener proved to know the secret:
// non-blocking, TCP_NODELAY. `patient`: refused, unreachable, reset and unwelcome attempts are
// repeated until the deadline (the peer may not listen yet); otherwise each candidate is tried
// once. Blocks the calling thread (never call it on the reactor); ends within 50 ms of an abort.
// Errors list each address with the reason it failed.
Result<Fd> dial(std::span<const Address> candidates, const JobKey& key, const Hello& hello,
                Deadline deadline, const AbortState* abort, bool patient);

}  // namespace gyre
