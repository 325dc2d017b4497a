#include "comm/machines.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "topology/discover.hpp"
#include "topology/discover_net.hpp"

namespace gyre {
namespace {

constexpr double kGigabyte = 1e9;

// Without hwloc and drivers: they take many times as long as the rest of an init.
topo::Topology interfaces_of_kernel() {
  topo::TopologyBuilder builder;
  topo::add_interfaces(builder, builder.add_host(""), "/sys");
  return std::move(builder).build();
}

double fastest_interface(const topo::Topology& topology) {
  double fastest = 0;
  for (const topo::NodeId id : topology.of(0, topo::NodeKind::nic)) {
    const topo::NicFacts& nic = *topology.node(id).nic();
    if (nic.up) fastest = std::max(fastest, nic.bandwidth.value_or(0) * kGigabyte);
  }
  return fastest;
}

std::uint32_t cores_of(const topo::Topology& topology) {
  std::uint32_t cores = 0;
  for (const topo::NodeId id : topology.of(0, topo::NodeKind::cpu)) {
    cores += static_cast<std::uint32_t>(std::max(0, topology.node(id).cpu()->cores));
  }
  return cores;
}

template <typename Value>
Value least_known(Value one, Value other) {
  if (one == 0) return other;
  return other == 0 ? one : std::min(one, other);
}

}  // namespace

HostFacts own_machine(Settings settings, int rank) {
  HostFacts own;
  own.cores = std::thread::hardware_concurrency();
  if (rank != 0) settings.topo_dump_file.clear();
  if (settings.topo_file.empty() && settings.topo_dump_file.empty()) {
    own.nic_bytes_per_second = fastest_interface(interfaces_of_kernel());
    return own;
  }
  const Result<topo::Topology> topology = topo::topology_by_settings(settings);
  if (!topology) {
    log_warn("{}; planning without it", topology.error().text);
    own.nic_bytes_per_second = fastest_interface(interfaces_of_kernel());
    return own;
  }
  own.nic_bytes_per_second = fastest_interface(*topology);
  own.cores = least_known(own.cores, cores_of(*topology));
  return own;
}

MachineFacts machine_facts(std::span<const PeerFacts> facts, bool memory_within_hosts) {
  MachineFacts machine;
  machine.memory_within_hosts = memory_within_hosts;
  std::vector<std::string> names;
  for (const PeerFacts& one : facts) {
    const auto found = std::find(names.begin(), names.end(), one.place);
    const auto host = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) {
      names.push_back(one.place);
      machine.hosts.emplace_back();
    }
    machine.host_of.push_back(static_cast<std::uint32_t>(host));
    HostFacts& known = machine.hosts[host];
    known.cores = least_known(known.cores, one.machine.cores);
    known.nic_bytes_per_second =
        least_known(known.nic_bytes_per_second, one.machine.nic_bytes_per_second);
  }
  return machine;
}

}  // namespace gyre
