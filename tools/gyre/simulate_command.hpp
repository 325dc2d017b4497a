// `gyre simulate`: how long a collective would take on a machine that is not here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"
#include "collectives/catalogue.hpp"
#include "simulate/machine.hpp"

namespace gyre::tools {

struct SimulateOptions {
  std::string collective = "all_reduce";
  std::string algorithm = "ring";
  std::uint32_t root = 0;
  std::vector<std::uint32_t> ranks;
  std::vector<std::uint64_t> sizes;  // bytes, the larger of a rank's two buffers
  sim::Hosts hosts;
  bool shared = false;  // whether NICs, memory and cores are; else `hosts` limits none of them
  std::uint32_t slots = 4;
  std::uint64_t slot_bytes = 128 << 10;
  bool json = false;
  std::string svg;       // file for the curves; empty: none
  std::string timeline;  // file for the diagram of the only call
};

struct SimulatedRow {
  std::uint32_t ranks = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
  std::uint64_t messages = 0;
  double algorithm_bandwidth = 0;  // bytes per second
  double bus_bandwidth = 0;        // as nccl-tests defines it
};

// The entry of the catalogue. Error: names what there is.
Result<const CatalogueEntry*> find_entry(const SimulateOptions& options);

// Messages that the call takes; simulating one takes 50 to 500 ns.
double count_messages(const CatalogueEntry& entry, std::uint32_t ranks, std::uint64_t bytes,
                      const SimulateOptions& options);

// The row of one call.
Result<SimulatedRow> simulate_row(const CatalogueEntry& entry, std::uint32_t ranks,
                                  std::uint64_t bytes, const SimulateOptions& options);

std::string simulated_json(const std::vector<SimulatedRow>& rows, const SimulateOptions& options);
std::string simulated_svg(const std::vector<SimulatedRow>& rows, const SimulateOptions& options);

// Prints a row as soon as it is there, calls that would take minutes left out with a remark; writes
// the files asked for.
Result<void> simulate_command(const SimulateOptions& options);

}  // namespace gyre::tools
