// The machine that is simulated: what messages and steps cost, and what they share. A plain value,
// made by `machine_of` for hosts that are all alike, or by whoever knows a real topology.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace gyre::sim {

inline constexpr std::uint32_t kNoLink = std::numeric_limits<std::uint32_t>::max();

// A message of b bytes occupies its lane for at least b * seconds_per_byte, and is at its receiver
// `latency` later. Its slot is the sender's again `credit_latency` after the receiver's step.
// Either end is busy with it (LogGP's o) for overhead + b * overhead_per_byte, on top of its step's
// cost.
struct LinkCost {
  double latency = 0;            // alpha, seconds
  double seconds_per_byte = 0;   // beta
  double credit_latency = 0;     // seconds
  double overhead = 0;           // seconds
  double overhead_per_byte = 0;  // seconds
};

// How long a step keeps its strand busy once all it needs is there.
struct StepCost {
  double fixed = 0;            // every step
  double per_message = 0;      // each message that it takes or sends
  double read_per_byte = 0;    // its first operand
  double reduce_per_byte = 0;  // each operand that is folded into the first
  double copy_per_byte = 0;    // the value that it stores in the output
  double send_per_byte = 0;    // each message that it sends
};

// Links that messages share, max-min fairly. Empty: every lane is a link of its own ("private").
struct Fabric {
  struct Link {
    std::string name;
    double capacity = 0;  // bytes per second; of cores: seconds of work per second
  };
  std::vector<Link> links;
  // Appends the links that messages from one rank to another cross, each once. None: they share
  // nothing and are bound by their lane's cost alone. Missing: no messages share anything.
  std::function<void(std::uint32_t from, std::uint32_t to, std::vector<std::uint32_t>& route)>
      route;
  // The link whose capacity is the cores that the steps of this rank share with others; kNoLink:
  // it has a core of its own. Missing: all have.
  std::function<std::uint32_t(std::uint32_t rank)> cores;
};

struct Machine {
  std::function<LinkCost(std::uint32_t from, std::uint32_t to)> link;
  StepCost step = {};
  Fabric fabric = {};
};

// Hosts that are all alike, with `ranks_per_host` consecutive ranks each. What is 0 is not limited
// or not shared.
struct Hosts {
  std::uint32_t ranks_per_host = 0;  // 0: all ranks on one host
  LinkCost same_host = {};
  LinkCost other_host = {};
  StepCost step = {};
  double nic_bytes_per_second = 0;     // of a host's ranks together, in each direction
  double memory_bytes_per_second = 0;  // of all messages within a host together
  double cores = 0;                    // of a host
};

// Error invalid_argument: names the value that cannot be.
Result<Machine> machine_of(const Hosts& hosts, std::uint32_t world);

// Whether every value is one that time can be computed with; simulate() asks.
Result<void> check_cost(const LinkCost& cost);
Result<void> check_cost(const StepCost& cost);

}  // namespace gyre::sim
