#include "plan/machine_facts.hpp"

namespace gyre {
bool MachineFacts::crowded() const {
  std::vector<std::uint32_t> ranks(hosts.size());
  for (const std::uint32_t host : host_of) ++ranks[host];
  for (std::size_t host = 0; host < hosts.size(); ++host) {
    if (hosts[host].cores != 0 && ranks[host] > hosts[host].cores) return true;
  }
  return false;
}

MachineFacts alike_hosts(std::uint32_t hosts, std::uint32_t ranks, const HostFacts& host,
                         bool memory_within_hosts) {
  MachineFacts facts;
  facts.hosts.assign(hosts, host);
  facts.memory_within_hosts = memory_within_hosts;
  for (std::uint32_t rank = 0; rank < hosts * ranks; ++rank) {
    facts.host_of.push_back(rank / ranks);
  }
  return facts;
}

}  // namespace gyre
