// What a topology says of a host that the planner cares for.
#pragma once

#include "plan/machine_facts.hpp"
#include "topology/topology.hpp"

namespace gyre {

// The cores of the first host, and its fastest network interface that is up; 0 for what is not
// known.
HostFacts first_host(const topo::Topology& topology);

}  // namespace gyre
