// The orders in which the devices of all hosts work together: rings that enter and leave each host
// on the network interfaces that belong together (rails), and trees over hosts.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/rings.hpp"
#include "topology/topology.hpp"
#include "topology/trees.hpp"

namespace gyre::topo {

struct Orders {
  std::vector<Ring> rings;
  Figure bandwidth;  // GB/s of all rings together
  bool best = false;
  std::vector<Tree> trees;
  // Steps from a host to the next one, of all rings, and those whose two ends are on different
  // rails, which a rail network must carry over its spine.
  int host_steps = 0, rail_crossings = 0;
};

// Over the devices of every host of the topology. Hosts of the same shape are worked out once, so
// that ten thousand ranks take milliseconds.
Orders find_orders(const Topology& topology, const RingOptions& options = {});

// The interfaces of a host that carry its devices' traffic: those with verbs if there are any, and
// none much slower than the fastest. The position is the rail, unless the interfaces name theirs.
std::vector<NodeId> rails_of(const Topology& topology, std::uint32_t host);

}  // namespace gyre::topo
