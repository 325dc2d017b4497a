// A topology and its orders as JSON, for programs.
#pragma once

#include <string>

#include "topology/orders.hpp"
#include "topology/topology.hpp"

namespace gyre::tools {

// {"hosts": [...], "nodes": [...], "links": [...], "paths": [...], "orders": {...}, "remarks":
// [...]}. Figures that are not known are null. "paths" has the pairs of devices of at most
// kMostInMatrix.
std::string topo_json(const topo::Topology& topology, const topo::Orders& orders);

}  // namespace gyre::tools
