#include "plan/machine_facts.hpp"

#include <algorithm>

namespace gyre {
namespace {

constexpr double kMicrosecond = 1e-6, kGigabyte = 1e9;

// A network whose speed nobody tells: 10 Gb/s.
constexpr double kUsualNic = 1.25 * kGigabyte;
constexpr double kNetworkLatency = 15 * kMicrosecond;

// Of lanes in memory; bench/plan_regret shows how well plans made with these figures do.
constexpr sim::StepCost kStep = {.fixed = 0.10 * kMicrosecond,
                                 .per_message = 0,
                                 .read_per_byte = 1 / (14 * kGigabyte),
                                 .reduce_per_byte = 1 / (9 * kGigabyte),
                                 .copy_per_byte = 1 / (14 * kGigabyte),
                                 .send_per_byte = 0};
constexpr sim::LinkCost kMemory = {.latency = 0.2 * kMicrosecond,
                                   .seconds_per_byte = 0,
                                   .credit_latency = 0.2 * kMicrosecond,
                                   .overhead = 0.10 * kMicrosecond,
                                   .overhead_per_byte = 1 / (20 * kGigabyte)};
// With more ranks than cores, who waits sleeps, and has to be woken and given a core.
constexpr sim::LinkCost kMemoryCrowded = {.latency = 1.0 * kMicrosecond,
                                          .seconds_per_byte = 0,
                                          .credit_latency = 1.0 * kMicrosecond,
                                          .overhead = 0.5 * kMicrosecond,
                                          .overhead_per_byte = 1 / (20 * kGigabyte)};
// Either end of a TCP connection spends a system call and a copy on each message.
constexpr sim::LinkCost kSocket = {.latency = 6 * kMicrosecond,
                                   .seconds_per_byte = 1 / (2.7 * kGigabyte),
                                   .credit_latency = 6 * kMicrosecond,
                                   .overhead = 2.5 * kMicrosecond,
                                   .overhead_per_byte = 1 / (5 * kGigabyte)};

double nic_of(const HostFacts& host) {
  return host.nic_bytes_per_second > 0 ? host.nic_bytes_per_second : kUsualNic;
}

sim::LinkCost network(const HostFacts& from, const HostFacts& to) {
  sim::LinkCost cost = kSocket;
  cost.latency = cost.credit_latency = kNetworkLatency;
  cost.seconds_per_byte = std::max(cost.seconds_per_byte, 1 / std::min(nic_of(from), nic_of(to)));
  return cost;
}

}  // namespace

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

sim::Machine model_of(const MachineFacts& facts) {
  sim::LinkCost within = kSocket;
  if (facts.memory_within_hosts) within = facts.crowded() ? kMemoryCrowded : kMemory;
  sim::Machine machine;
  machine.step = kStep;
  machine.link = [facts, within](std::uint32_t from, std::uint32_t to) {
    const std::uint32_t source = facts.host_of[from], target = facts.host_of[to];
    return source == target ? within : network(facts.hosts[source], facts.hosts[target]);
  };
  return machine;
}

double seconds_per_byte_out(const HostFacts& host) { return 1 / nic_of(host); }

}  // namespace gyre
