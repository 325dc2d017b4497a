// What the planner knows of the machines that ranks run on, agreed on at init.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre {

struct HostFacts {
  std::uint32_t cores = 0;          // that its ranks may use; 0: not known
  double nic_bytes_per_second = 0;  // of its fastest network interface; 0: not known

  bool operator==(const HostFacts&) const = default;
};

struct MachineFacts {
  std::vector<std::uint32_t> host_of;  // by rank; an index of `hosts`
  std::vector<HostFacts> hosts;
  bool memory_within_hosts = false;  // ranks of one host share memory, all of them

  std::uint32_t world() const { return static_cast<std::uint32_t>(host_of.size()); }
  bool crowded() const;  // some host has more ranks than cores
};

// `hosts` alike hosts with `ranks` consecutive ranks each.
MachineFacts alike_hosts(std::uint32_t hosts, std::uint32_t ranks, const HostFacts& host,
                         bool memory_within_hosts);

}  // namespace gyre
