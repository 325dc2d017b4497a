// What steps and messages of host ranks cost.
#pragma once

#include "plan/machine_facts.hpp"
#include "simulate/machine.hpp"

namespace gyre {

// Factors of the simulated time.
struct Saving {
  // Bytes of a message: smaller direct ones have a short form (between two ranks, twice as large
  // ones as well).
  std::uint64_t short_form_most = 0;
  double short_form = 1;
  std::uint64_t direct_from = 0;  // bytes from which direct schedules copy less
  double direct = 1;
};

struct HostCosts {
  sim::StepCost step;
  sim::LinkCost memory;
  sim::LinkCost crowded;  // the same with more ranks than cores: who waits sleeps, and is woken
  sim::LinkCost socket;   // TCP within a host
  Saving saving;          // where all ranks share memory
  double network_latency = 0;       // of TCP between hosts
  double nic_bytes_per_second = 0;  // of a NIC whose speed nobody tells
};

// Measured on one machine of two cores: those with which the model's choices cost least there.
// bench/plan_regret shows how much that is.
HostCosts usual_costs();

// The machine with links of their own; what is shared is bounded by CostModel.
sim::Machine model_of(const MachineFacts& facts, const HostCosts& costs);

// The time that a host's NIC takes for a byte, at least.
double nic_seconds_per_byte(const HostFacts& host, const HostCosts& costs);

}  // namespace gyre
