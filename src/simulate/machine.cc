#include "simulate/machine.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string_view>
#include <utility>

namespace gyre::sim {
namespace {

Result<void> check_value(std::string_view name, double value) {
  if (std::isfinite(value) && value >= 0) return {};
  return Error{Status::invalid_argument,
               fmt::format("simulate: {} is {}; it must be 0 or more, and finite", name, value)};
}

struct NamedValue {
  std::string_view name;
  double value;
};

// Links of one kind, a host each: host h has link first + h. Nothing for a capacity of 0.
struct PerHost {
  std::uint32_t first = kNoLink;

  bool there() const { return first != kNoLink; }
  std::uint32_t of(std::uint32_t host) const { return first + host; }
};

PerHost add_links(Fabric& fabric, std::uint32_t hosts, std::string_view name, double capacity) {
  if (capacity == 0) return {};
  const PerHost links{static_cast<std::uint32_t>(fabric.links.size())};
  for (std::uint32_t host = 0; host < hosts; ++host) {
    fabric.links.push_back({fmt::format("{} of host {}", name, host), capacity});
  }
  return links;
}

Result<void> check_hosts(const Hosts& hosts) {
  GYRE_TRY(check_cost(hosts.same_host));
  GYRE_TRY(check_cost(hosts.other_host));
  GYRE_TRY(check_cost(hosts.step));
  for (const NamedValue& one : {NamedValue{"the NICs' bandwidth", hosts.nic_bytes_per_second},
                                NamedValue{"the memory's bandwidth", hosts.memory_bytes_per_second},
                                NamedValue{"the number of cores", hosts.cores}}) {
    GYRE_TRY(check_value(one.name, one.value));
  }
  return {};
}

}  // namespace

Result<void> check_cost(const LinkCost& cost) {
  GYRE_TRY(check_value("a link's latency", cost.latency));
  GYRE_TRY(check_value("a link's time per byte", cost.seconds_per_byte));
  GYRE_TRY(check_value("a link's credit latency", cost.credit_latency));
  GYRE_TRY(check_value("a link's overhead", cost.overhead));
  return check_value("a link's overhead per byte", cost.overhead_per_byte);
}

Result<void> check_cost(const StepCost& cost) {
  for (const NamedValue& one : {NamedValue{"a step's fixed time", cost.fixed},
                                NamedValue{"a step's time per message", cost.per_message},
                                NamedValue{"the time to read a byte", cost.read_per_byte},
                                NamedValue{"the time to reduce a byte", cost.reduce_per_byte},
                                NamedValue{"the time to copy a byte", cost.copy_per_byte},
                                NamedValue{"the time to send a byte", cost.send_per_byte}}) {
    GYRE_TRY(check_value(one.name, one.value));
  }
  return {};
}

Result<Machine> machine_of(const Hosts& hosts, std::uint32_t world) {
  GYRE_TRY(check_hosts(hosts));
  const std::uint32_t each = hosts.ranks_per_host == 0 ? world : hosts.ranks_per_host;
  const std::uint32_t count = each == 0 ? 0 : (world + each - 1) / each;

  Machine machine;
  machine.step = hosts.step;
  machine.link = [each, same = hosts.same_host, other = hosts.other_host](std::uint32_t from,
                                                                          std::uint32_t to) {
    return from / each == to / each ? same : other;
  };
  Fabric& fabric = machine.fabric;
  const PerHost out = add_links(fabric, count, "NIC, out,", hosts.nic_bytes_per_second);
  const PerHost in = add_links(fabric, count, "NIC, in,", hosts.nic_bytes_per_second);
  const PerHost memory = add_links(fabric, count, "memory", hosts.memory_bytes_per_second);
  const PerHost cores = add_links(fabric, count, "cores", hosts.cores);
  fabric.route = [=](std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& route) {
    const std::uint32_t source = from / each, target = to / each;
    if (source == target && memory.there()) route.push_back(memory.of(source));
    if (source == target || !out.there()) return;
    route.push_back(out.of(source));
    route.push_back(in.of(target));
  };
  if (cores.there()) fabric.cores = [=](std::uint32_t rank) { return cores.of(rank / each); };
  return machine;
}

}  // namespace gyre::sim
