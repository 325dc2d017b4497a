// Rings through devices of one host: orders in which each passes to the next, around.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "topology/cycles.hpp"
#include "topology/topology.hpp"

namespace gyre::topo {

struct Ring {
  std::vector<NodeId> order;
  // GB/s that it carries while all rings of its set run; none where a link has no figure.
  Figure bandwidth;
  bool direct = false;  // every step is one NVLink or xGMI link, straight or through NVSwitches
};

struct RingSet {
  std::vector<Ring> rings;
  Figure bandwidth;  // of all together
  // No set of direct rings can have more; or no ring leaves direct links and near domains less
  // often. Otherwise the best that was found within the budget.
  bool best = false;
};

struct RingOptions {
  int most = 32;
  std::int64_t budget = 20'000'000;  // steps of the search: some tens of milliseconds
};

// If the devices can be visited over direct links alone, every ring does, and no two rings use the
// same link in the same direction. Otherwise the rings leave direct links, NUMA nodes and bridges
// as seldom as possible. The same devices always give the same rings.
RingSet find_rings(const Topology& topology, std::span<const NodeId> devices,
                   const RingOptions& options = {});

// Arcs are the direct links between the devices, in units of one link.
Arcs direct_arcs(const Topology& topology, std::span<const NodeId> devices);

// How far each device is from each other one where `arcs` has no link left: leaving a nearer domain
// once costs more than any number of steps within it. Among few devices only (kMostExact).
Arcs distances(const Topology& topology, std::span<const NodeId> devices, const Arcs& arcs);

}  // namespace gyre::topo
