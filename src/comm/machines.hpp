// What each rank tells of the machine that it runs on, and what all of that makes for the planner.
#pragma once

#include <cstdint>
#include <span>

#include "base/settings.hpp"
#include "comm/facts.hpp"
#include "plan/machine_facts.hpp"

namespace gyre {

// This machine's cores, and the bytes per second of its fastest network interface that is up, 0 if
// nobody knows: as NCCL_TOPO_FILE says or, without it, as the kernel does. A file that cannot be
// read is logged, and counts as none. Rank 0 also writes NCCL_TOPO_DUMP_FILE.
HostFacts own_machine(Settings settings, int rank);

// Ranks of one place share a host. Of what its ranks tell of it the least holds.
MachineFacts machine_facts(std::span<const PeerFacts> facts, bool memory_within_hosts);

}  // namespace gyre
