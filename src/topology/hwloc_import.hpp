// Packages, NUMA nodes, caches and PCI devices by hwloc: of this machine, or of an hwloc XML file.
#pragma once

#include <string_view>

#include "base/status.hpp"
#include "topology/builder.hpp"

namespace gyre::topo {

// Adds what hwloc sees of this machine to a host. What a virtual machine or container hides is not
// there; that is no error.
Result<void> add_hwloc(TopologyBuilder& builder, std::uint32_t host);

// The same of the machine that an hwloc XML file describes.
Result<void> add_hwloc_xml(TopologyBuilder& builder, std::uint32_t host, std::string_view text,
                           std::string_view file);

// The topology that `lstopo file.xml` wrote, with NVLink and xGMI if its distances are there.
Result<Topology> read_hwloc_xml(std::string_view text, std::string_view file);

}  // namespace gyre::topo
