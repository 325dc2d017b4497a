// What the orders of a cluster need to know about one host, in positions instead of names, so that
// hosts of one shape share it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "topology/cycles.hpp"
#include "topology/rings.hpp"
#include "topology/topology.hpp"
#include "topology/trees.hpp"

namespace gyre::topo {

struct HostPlan {
  std::vector<Cycle> rings;    // positions of devices
  std::vector<Parents> trees;  // the same; nodes are positions
  std::vector<Figure> tree_bandwidth;
  std::vector<int> device_of_rail;  // the nearest one, each used about equally often
  std::vector<int> rail_of_device;  // -1 without rails
  std::vector<Figure> rail_bandwidth;
  Figure ring_bandwidth;  // of all rings of the host
  Arcs costs{0};          // from device to device, for ways that no ring has
  bool best = false;
};

HostPlan plan_host(const Topology& topology, std::uint32_t host, const RingOptions& options);

// Equal for hosts whose nodes and links are equal but for names.
std::string shape_of(const Topology& topology, std::uint32_t host);

}  // namespace gyre::topo
