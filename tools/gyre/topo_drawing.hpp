// A topology as SVG text.
#pragma once

#include <string>

#include "topology/orders.hpp"
#include "topology/topology.hpp"

namespace gyre::tools {

// Hosts in a grid, each with its boxes, the links between its GPUs as arcs above them or as a bar
// of switches, and the rings below. Hosts beyond kMostDrawn are counted only.
constexpr std::size_t kMostDrawn = 8;
std::string topo_svg(const topo::Topology& topology, const topo::Orders& orders);

}  // namespace gyre::tools
