#include "plan/host_costs.hpp"

#include <algorithm>

namespace gyre {
namespace {

constexpr double kMicrosecond = 1e-6, kNanosecond = 1e-9;

sim::LinkCost network(const HostFacts& from, const HostFacts& to, const HostCosts& costs) {
  sim::LinkCost cost = costs.socket;
  cost.latency = cost.credit_latency = costs.network_latency;
  cost.seconds_per_byte = std::max(
      {cost.seconds_per_byte, nic_seconds_per_byte(from, costs), nic_seconds_per_byte(to, costs)});
  return cost;
}

}  // namespace

HostCosts usual_costs() {
  HostCosts costs;
  costs.step = {.fixed = 0.45 * kMicrosecond,
                .per_message = 0,
                .read_per_byte = 0.052 * kNanosecond,
                .reduce_per_byte = 0.087 * kNanosecond,
                .copy_per_byte = 0.062 * kNanosecond,
                .send_per_byte = 0};
  costs.memory = {.latency = 0.029 * kMicrosecond,
                  .seconds_per_byte = 0.0015 * kNanosecond,
                  .credit_latency = 0.029 * kMicrosecond,
                  .overhead = 0.077 * kMicrosecond,
                  .overhead_per_byte = 0.013 * kNanosecond};
  costs.crowded = {.latency = 3.0 * kMicrosecond,
                   .seconds_per_byte = 0,
                   .credit_latency = 3.0 * kMicrosecond,
                   .overhead = 0.45 * kMicrosecond,
                   .overhead_per_byte = 0.036 * kNanosecond};
  costs.socket = {.latency = 3.3 * kMicrosecond,
                  .seconds_per_byte = 0.001 * kNanosecond,
                  .credit_latency = 3.3 * kMicrosecond,
                  .overhead = 2.8 * kMicrosecond,
                  .overhead_per_byte = 0.11 * kNanosecond};
  costs.saving = {
      .short_form_most = 4095, .short_form = 0.47, .direct_from = 27'000, .direct = 0.66};
  costs.network_latency = 15 * kMicrosecond;
  costs.nic_bytes_per_second = 1.25e9;
  return costs;
}

sim::Machine model_of(const MachineFacts& facts, const HostCosts& costs) {
  sim::LinkCost within = costs.socket;
  if (facts.memory_within_hosts) within = facts.crowded() ? costs.crowded : costs.memory;
  sim::Machine machine;
  machine.step = costs.step;
  machine.link = [facts, within, costs](std::uint32_t from, std::uint32_t to) {
    const std::uint32_t source = facts.host_of[from], target = facts.host_of[to];
    return source == target ? within : network(facts.hosts[source], facts.hosts[target], costs);
  };
  return machine;
}

double nic_seconds_per_byte(const HostFacts& host, const HostCosts& costs) {
  const double speed = host.nic_bytes_per_second;
  return 1 / (speed > 0 ? speed : costs.nic_bytes_per_second);
}

}  // namespace gyre
