// `gyre plan`: what would run a collective, what the other schedules would cost, and the program.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.hpp"
#include "plan/machine_facts.hpp"

namespace gyre::tools {

struct PlanOptions {
  std::string collective = "all_reduce";
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;  // the larger of a rank's two buffers
  std::uint32_t root = 0;
  std::uint32_t rank = 1;         // whose program is shown; the last one if there are fewer
  std::uint32_t hosts = 0;        // with as many ranks each; 0: as the topology has, or one
  HostFacts host;                 // what is not 0 holds in place of the topology's
  std::string within = "memory";  // or socket: how ranks of one host reach each other
  std::string topology;           // a file
  std::string synthetic;          // a made-up machine
  std::string tuning;             // a table of `gyre tune`
  std::string nccl_algo;          // NCCL_ALGO's text
  std::string algorithm;          // GYRE_ALGO's text
  bool fixed_order = false;       // of averages, low precision and reproducible mode
  std::uint32_t slots = 4;
  std::uint64_t slot_bytes = 128 << 10;
  bool json = false;
  std::string svg;  // file for the space-time diagram
};

// What to print. Error: names what cannot be.
Result<std::string> plan_command(const PlanOptions& options);

}  // namespace gyre::tools
