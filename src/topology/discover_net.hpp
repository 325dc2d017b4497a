// Network interfaces and verbs devices, from the kernel.
#pragma once

#include <filesystem>

#include "topology/builder.hpp"

namespace gyre::topo {

// `sys` is /sys, or a copy of it. Physical interfaces and verbs ports; of virtual interfaces those
// that are up, if there is nothing else, and without the speed that they claim.
void add_interfaces(TopologyBuilder& builder, std::uint32_t host, const std::filesystem::path& sys);

}  // namespace gyre::topo
