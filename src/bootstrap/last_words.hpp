// How a rank that gives up tells the others why: by hand, without the reactor, which may be what
// this process has no thread or memory for.
#pragma once

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"

namespace gyre {

// Joins the hub at the other end of `connection` (fresh from dial()) as `rank`, announces `error`,
// and waits until the hub has read it, at most until the deadline.
Result<void> say_last_words(const Fd& connection, int rank, int world, const Error& error,
                            Deadline deadline);

}  // namespace gyre
