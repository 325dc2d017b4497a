// What a rank does to its own process: signals, limits, children.
#pragma once

#include <nccl.h>

#include <istream>
#include <string>

#include "tests/fault/outcome.hpp"

namespace gyre::test {

// A forked child that does `what` (exit, linger, handlers, exec, call) and how it ended.
Outcome in_forked_child(const std::string& what, ncclComm_t comm);
// INTERVAL_US: a signal each time, with a handler that makes system calls fail with EINTR.
Outcome storm(std::istream& arguments);
// SOFT HARD; 0: as it is.
Outcome limit_descriptors(std::istream& arguments);
// KIB: the process gets this much more memory and not a byte beyond; -1: all it asks for.
Outcome limit_memory(std::istream& arguments);

}  // namespace gyre::test
