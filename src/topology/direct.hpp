// The links over which two GPUs reach each other's memory without PCI: NVLink and xGMI, straight or
// through NVSwitches.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "topology/topology.hpp"

namespace gyre::topo {

struct DirectLink {
  LinkKind kind = LinkKind::nvlink;
  int count = 1;          // links that the two have for each other
  Figure bandwidth;       // GB/s each way
  bool switched = false;  // shared with all others at the switches
};

std::optional<DirectLink> direct_link(const Topology& topology, NodeId a, NodeId b);

// The links of a GPU that end at NVSwitches, bonded; none if it has none.
std::optional<DirectLink> switch_ports(const Topology& topology, NodeId gpu);

}  // namespace gyre::topo
