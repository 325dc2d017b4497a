// What this machine is made of, or what a file says that it is made of.
#pragma once

#include <filesystem>
#include <string>

#include "base/settings.hpp"
#include "base/status.hpp"
#include "topology/topology.hpp"

namespace gyre::topo {

struct DiscoverOptions {
  std::filesystem::path sys = "/sys";  // or a copy of it
  std::filesystem::path hwloc_xml;     // in place of what hwloc sees of this machine
  bool ask_drivers = true;             // CUDA and NVML, if they are installed
};

// Asks hwloc, NVIDIA's driver and the kernel. What a virtual machine or container hides stays
// unknown; nothing that is missing is an error.
Result<Topology> discover_topology(const DiscoverOptions& options = {});

// Reads a file of the vendor libraries' or of hwloc's, whichever it is.
Result<Topology> load_topology(const std::filesystem::path& file);
// The same from a text that was read from `file`.
Result<Topology> parse_topology(std::string_view text, std::string_view file);

Result<void> dump_topology(const Topology& topology, const std::filesystem::path& file);

// By the settings: NCCL_TOPO_FILE's topology, or this machine's; also written to
// NCCL_TOPO_DUMP_FILE if that is set.
Result<Topology> topology_by_settings(const Settings& settings);

}  // namespace gyre::topo
