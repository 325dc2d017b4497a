#include "simulate/simulate.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "schedule/well_formed.hpp"
#include "simulate/lanes.hpp"
#include "simulate/run.hpp"

namespace gyre::sim {
namespace {

constexpr std::uint32_t kMostSlots = 1U << 20;

Error wrong(std::string text) { return {Status::invalid_argument, "simulate: " + std::move(text)}; }

Result<void> check_call(std::uint32_t world, const Machine& machine, const Message& message,
                        const Options& options) {
  if (world == 0) return wrong("a world of no ranks");
  if (!machine.link) return wrong("the machine does not say what a message costs (Machine::link)");
  if (message.tiles == 0) return wrong("a message of no tiles; an empty one has one empty tile");
  if (options.slots == 0 || options.slots > kMostSlots) {
    return wrong(fmt::format("{} slots; lanes have 1 to {}", options.slots, kMostSlots));
  }
  GYRE_TRY(check_cost(machine.step));
  for (const Fabric::Link& link : machine.fabric.links) {
    if (std::isfinite(link.capacity) && link.capacity > 0) continue;
    return wrong(
        fmt::format("the capacity of link \"{}\" is {}; it must be more than 0, and finite",
                    link.name, link.capacity));
  }
  return {};
}

Result<void> check_program(const Program& program, const Program& first, std::uint32_t rank,
                           std::uint32_t world, const Message& message) {
  GYRE_TRY(check_well_formed(one_trip_per_peers(program)));
  if (program.rank != rank || program.world != world) {
    return wrong(fmt::format("program {} says that it is of rank {} of {}", rank, program.rank,
                             program.world));
  }
  if (program.input_chunks != first.input_chunks || program.output_chunks != first.output_chunks) {
    return wrong(fmt::format("ranks 0 and {} cut their buffers differently", rank));
  }
  if (program.input_chunks != message.input.chunks ||
      program.output_chunks != message.output.chunks) {
    return wrong(fmt::format(
        "the message is cut into {} and {} chunks, the programs into {} and {}",
        message.input.chunks, message.output.chunks, program.input_chunks, program.output_chunks));
  }
  return {};
}

Result<std::vector<RankProgram>> collect(const ProgramOf& program_of, std::uint32_t world,
                                         const Message& message) {
  std::vector<RankProgram> ranks;
  ranks.reserve(world);
  std::uint32_t strands = 0;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    ranks.push_back({program_of(rank), strands});
    const Program& program = ranks.back().program;
    GYRE_TRY(check_program(program, ranks.front().program, rank, world, message));
    strands += program.strand_count;
  }
  return ranks;
}

}  // namespace

Result<Timeline> simulate(const ProgramOf& program_of, std::uint32_t world, const Machine& machine,
                          const Message& message, const Options& options) {
  GYRE_TRY(check_call(world, machine, message, options));
  GYRE_TRY_ASSIGN(const std::vector<RankProgram> ranks, collect(program_of, world, message));
  GYRE_TRY_ASSIGN(Lanes lanes, Lanes::of(ranks, machine, options.slots));
  return Run(ranks, lanes, machine, message, options.record).run();
}

Result<Timeline> simulate(std::span<const Program> programs, const Machine& machine,
                          const Message& message, const Options& options) {
  return simulate([&](std::uint32_t rank) { return programs[rank]; },
                  static_cast<std::uint32_t>(programs.size()), machine, message, options);
}

}  // namespace gyre::sim
