// How fast devices' PCI links can be, from the kernel.
#pragma once

#include <filesystem>

#include "topology/builder.hpp"

namespace gyre::topo {

// `sys` is /sys, or a copy of it. Takes the most that a device and the port above it can do: the
// rate of the moment is low while a GPU rests.
void add_pci_rates(TopologyBuilder& builder, std::uint32_t host, const std::filesystem::path& sys);

}  // namespace gyre::topo
