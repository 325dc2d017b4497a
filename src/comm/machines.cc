#include "comm/machines.hpp"

#include <algorithm>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "plan/host_facts.hpp"
#include "topology/discover.hpp"
#include "topology/discover_net.hpp"

namespace gyre {
namespace {

// Without hwloc and drivers: they take many times as long as the rest of an init.
topo::Topology interfaces_of_kernel() {
  topo::TopologyBuilder builder;
  topo::add_interfaces(builder, builder.add_host(""), "/sys");
  return std::move(builder).build();
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
    own.nic_bytes_per_second = first_host(interfaces_of_kernel()).nic_bytes_per_second;
    return own;
  }
  const Result<topo::Topology> topology = topo::topology_by_settings(settings);
  if (!topology) {
    log_warn("{}; planning without it", topology.error().text);
    own.nic_bytes_per_second = first_host(interfaces_of_kernel()).nic_bytes_per_second;
    return own;
  }
  const HostFacts described = first_host(*topology);
  return {least_known(own.cores, described.cores), described.nic_bytes_per_second};
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
