// A topology and its orders for a terminal.
#pragma once

#include <string>

#include "topology/orders.hpp"
#include "topology/topology.hpp"

namespace gyre::tools {

// The tree of each host (hosts alike are shown once).
std::string topo_tree(const topo::Topology& topology);

// Devices and network interfaces against each other, as `nvidia-smi topo -m` shows them, with the
// bandwidth between devices below; for at most kMostInMatrix devices.
constexpr std::size_t kMostInMatrix = 64;
std::string topo_matrix(const topo::Topology& topology);

// Which transports pairs of devices can use and why not the others; pairs alike in one paragraph.
std::string topo_transports(const topo::Topology& topology);

std::string topo_orders(const topo::Topology& topology, const topo::Orders& orders);

// All of it.
std::string topo_text(const topo::Topology& topology, const topo::Orders& orders);

// "450 GB/s", "? GB/s".
std::string bandwidth_text(topo::Figure bandwidth);
// Names that tell devices of several hosts apart: "GPU3", or "1/GPU3" on host 1.
std::string device_name(const topo::Topology& topology, topo::NodeId id);
// What a node is, for a line or a box: "NVIDIA H100, 18 NVLinks of 450 GB/s together".
std::string node_detail(const topo::Topology& topology, topo::NodeId id);

}  // namespace gyre::tools
