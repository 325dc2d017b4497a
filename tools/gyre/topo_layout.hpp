// Where the parts of one host lie in a drawing: nested boxes, a box for each NUMA node, bridge and
// device.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "topology/topology.hpp"

namespace gyre::tools {

struct Box {
  enum class Kind { numa, bridge, gpu, nic, lost };
  Kind kind = Kind::bridge;
  topo::NodeId node = topo::kNoNode;
  double x = 0, y = 0, width = 0, height = 0;  // from the host's own corner
  std::string title, detail;
  std::vector<Box> inside;
};

struct HostLayout {
  std::vector<Box> boxes;  // the NUMA nodes side by side, then what is nobody's
  double width = 0, height = 0;
};

constexpr double kLeafWidth = 92, kLeafHeight = 40, kLabelHeight = 19, kPadding = 7;
// Between NUMA nodes, where the socket link's figure stands.
constexpr double kSocketGap = 74;

HostLayout lay_out(const topo::Topology& topology, std::uint32_t host);

// Cut to what fits into a width at 12 px.
std::string fitted(const std::string& text, double width);

}  // namespace gyre::tools
