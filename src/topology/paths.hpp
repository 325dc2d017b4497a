// Ways from one node to another, named as `nvidia-smi topo -m` names them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "topology/topology.hpp"

namespace gyre::topo {

// From near to far, as the vendor libraries rank them.
enum class PathKind : std::uint8_t {
  self,
  nvlink,   // NVLink, straight or through NVSwitches
  xgmi,     // AMD's links between GPUs
  c2c,      // a processor's own link to a GPU
  pix,      // at most one PCI bridge
  pxb,      // several PCI bridges
  phb,      // a PCI host bridge, which is the processor
  node,     // two host bridges of one NUMA node
  sys,      // from one NUMA node to another
  net,      // from one host to another
  unknown,  // nothing says how they are joined: virtual machines and containers hide it
};

std::string_view name_of(PathKind kind);

struct Path {
  PathKind kind = PathKind::unknown;
  int links = 0;                // bonded NVLink or xGMI links
  Figure bandwidth;             // GB/s each way at the narrowest place
  Figure latency;               // microseconds, one way
  std::vector<NodeId> nodes{};  // both ends and what is between; empty if unknown
};

// "X", "NV18", "XG4", "C2C", "PIX", "PXB", "PHB", "NODE", "SYS", "NET", "?".
std::string label_of(const Path& path);

// The path whose worst link is nearest, and among those the one with the fewest nodes. GPUs pass
// nothing on.
Path shortest_path(const Topology& topology, NodeId from, NodeId to);

// The shortest one that uses no NVLink, xGMI or C2C: over PCI, the processors and the network.
Path host_path(const Topology& topology, NodeId from, NodeId to);

// The path whose narrowest link is widest, and among those the shortest. Links without a figure
// count as the narrowest.
Path widest_path(const Topology& topology, NodeId from, NodeId to);

struct NicDistance {
  NodeId nic = kNoNode;
  Path path;
};
// The network interfaces of a device's host, nearest first; those equally near start with another
// one for each device, so that devices spread over them.
std::vector<NicDistance> nearest_nics(const Topology& topology, NodeId device);

}  // namespace gyre::topo
