#include "plan/host_facts.hpp"

#include <algorithm>

namespace gyre {
namespace {

constexpr double kGigabyte = 1e9;

}  // namespace

HostFacts first_host(const topo::Topology& topology) {
  HostFacts host;
  for (const topo::NodeId id : topology.of(0, topo::NodeKind::cpu)) {
    host.cores += static_cast<std::uint32_t>(std::max(0, topology.node(id).cpu()->cores));
  }
  for (const topo::NodeId id : topology.of(0, topo::NodeKind::nic)) {
    const topo::NicFacts& nic = *topology.node(id).nic();
    if (!nic.up) continue;
    host.nic_bytes_per_second =
        std::max(host.nic_bytes_per_second, nic.bandwidth.value_or(0) * kGigabyte);
  }
  return host;
}

}  // namespace gyre
