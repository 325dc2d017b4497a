#include "topology/discover.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <fstream>
#include <string_view>
#include <utility>

#include "base/read_file.hpp"
#include "topology/builder.hpp"
#include "topology/discover_kfd.hpp"
#include "topology/discover_net.hpp"
#include "topology/discover_pci.hpp"
#include "topology/hwloc_import.hpp"
#include "topology/nccl_xml.hpp"
#include "topology/nvidia.hpp"
#include "topology/sysfs.hpp"

namespace gyre::topo {
namespace {

std::string own_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0' ? name.data()
                                                                             : "host0";
}

Result<std::string> read_file(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 64 << 20;
  GYRE_TRY_ASSIGN(std::string text, read_regular_file(file, kMost));
  if (!text.empty()) return text;
  return Error{Status::invalid_argument,
               fmt::format("{}:1: nothing to read; name a topology file", file.string())};
}

// The modules that let network interfaces read GPUs' memory.
void note_direct_rdma(TopologyBuilder& builder, std::uint32_t host,
                      const std::filesystem::path& sys) {
  const bool nvidia =
      is_there(sys / "module/nvidia_peermem") || is_there(sys / "module/nv_peer_mem");
  const bool amd = is_there(sys / "kernel/mm/memory_peers/amdkfd/version") ||
                   is_there(sys / "memory_peers/amdkfd/version");
  for (const NodeId id : builder.of(host, NodeKind::gpu)) {
    Node& node = builder.node(id);
    std::get<GpuFacts>(node.facts).direct_rdma = node.pci.vendor == "0x1002" ? amd : nvidia;
  }
  for (const NodeId id : builder.of(host, NodeKind::nic)) {
    auto& nic = std::get<NicFacts>(builder.node(id).facts);
    nic.direct_rdma = nic.verbs && (nvidia || amd);
  }
}

// A rank runs somewhere, whatever hwloc sees.
void add_unknown_cpu(TopologyBuilder& builder, std::uint32_t host) {
  Node node;
  node.host = host;
  node.facts = CpuFacts{};
  builder.add(std::move(node));
}

}  // namespace

Result<Topology> discover_topology(const DiscoverOptions& options) {
  TopologyBuilder builder;
  const std::uint32_t host = builder.add_host(own_name());
  if (options.hwloc_xml.empty()) {
    if (const auto seen = add_hwloc(builder, host); !seen) builder.remark(seen.error().text);
  } else {
    GYRE_TRY_ASSIGN(const std::string text, read_file(options.hwloc_xml));
    GYRE_TRY(add_hwloc_xml(builder, host, text, options.hwloc_xml.string()));
  }
  if (builder.of(host, NodeKind::cpu).empty()) add_unknown_cpu(builder, host);
  if (options.ask_drivers) add_nvidia(builder, host, ask_nvidia_driver());
  add_kfd(builder, host, options.sys);
  add_interfaces(builder, host, options.sys);
  add_pci_rates(builder, host, options.sys);
  note_direct_rdma(builder, host, options.sys);
  return std::move(builder).build();
}

Result<Topology> parse_topology(std::string_view text, std::string_view file) {
  const bool hwloc = text.find("<topology") != std::string_view::npos && !is_nccl_xml(text);
  return hwloc ? read_hwloc_xml(text, file) : read_nccl_xml(text, file);
}

Result<Topology> load_topology(const std::filesystem::path& file) {
  GYRE_TRY_ASSIGN(const std::string text, read_file(file));
  return parse_topology(text, file.string());
}

Result<void> dump_topology(const Topology& topology, const std::filesystem::path& file) {
  std::ofstream out(file, std::ios::binary);
  if (!(out << write_nccl_xml(topology) << std::flush)) {
    return system_error(file.string(), errno);
  }
  return {};
}

Result<Topology> topology_by_settings(const Settings& settings) {
  Result<Topology> topology =
      settings.topo_file.empty() ? discover_topology() : load_topology(settings.topo_file);
  if (topology && !settings.topo_dump_file.empty()) {
    GYRE_TRY(dump_topology(*topology, settings.topo_dump_file));
  }
  return topology;
}

}  // namespace gyre::topo
