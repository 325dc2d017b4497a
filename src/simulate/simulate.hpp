// How long a schedule takes on a machine: every rank's program, read by the cursor that executors
// use, over bounded lanes, in model time.
//
//   const auto& ring = *find_schedule("ring", CollectiveKind::all_reduce);
//   const auto programs = [&](std::uint32_t rank) { return ring.build(rank, 1024, 0, 1); };
//   const auto message = message_of(ring.kind, 1 << 20, programs(0), 128 << 10);
//   GYRE_TRY_ASSIGN(const auto machine, machine_of({.other_host = {5e-6, 1 / 25e9}}, 1024));
//   GYRE_TRY_ASSIGN(const auto timeline, simulate(programs, 1024, machine, message));
#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "base/status.hpp"
#include "schedule/step.hpp"
#include "simulate/machine.hpp"
#include "simulate/message.hpp"
#include "simulate/timeline.hpp"

namespace gyre::sim {

// The program of a rank; called once for each.
using ProgramOf = std::function<Program(std::uint32_t rank)>;

struct Options {
  std::uint32_t slots = 4;  // of every lane
  bool record = false;      // keep every step and message in the timeline
};

// Errors (invalid_argument): malformed programs, values that no time can be computed with, a
// deadlock, messages nobody takes, more lanes than memory is meant for. Deterministic. Thread-safe.
//
// Memory: 1 KiB a rank and 0.2 KiB a lane, whatever the number of steps. Time: well under a
// microsecond a step; with shared links, more where many flows meet.
Result<Timeline> simulate(const ProgramOf& program_of, std::uint32_t world, const Machine& machine,
                          const Message& message, const Options& options = {});
Result<Timeline> simulate(std::span<const Program> programs, const Machine& machine,
                          const Message& message, const Options& options = {});

}  // namespace gyre::sim
