// AMD's GPUs and their xGMI links, from the kernel's compute driver.
#pragma once

#include <filesystem>

#include "topology/builder.hpp"

namespace gyre::topo {

// `sys` is /sys, or a copy of it. Adds nothing where the driver is not there.
void add_kfd(TopologyBuilder& builder, std::uint32_t host, const std::filesystem::path& sys);

}  // namespace gyre::topo
