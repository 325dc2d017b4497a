// The hosts that synthetic clusters are made of, modelled on the vendors' published block diagrams.
#pragma once

#include <string_view>
#include <vector>

#include "topology/builder.hpp"

namespace gyre::topo {

struct HostModel {
  std::string_view name, what;
  void (*add)(TopologyBuilder& builder, std::uint32_t host);
};

std::vector<HostModel> host_models();

}  // namespace gyre::topo
