// Machines made up from a name, up to clusters of ten thousand ranks.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "topology/topology.hpp"

namespace gyre::topo {

struct SyntheticModel {
  std::string_view name, what;
};
std::vector<SyntheticModel> synthetic_models();

// [Nx]MODEL[+[Nx]MODEL...][:rail|:fat-tree], e.g. "dgx-h100", "32xmi300x:rail",
// "2xdgx-h100+2xmi300x:fat-tree". Several hosts are joined by a rail network unless it says
// otherwise.
Result<Topology> synthetic_topology(std::string_view text);

}  // namespace gyre::topo
