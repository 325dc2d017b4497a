// Calls that the tests simulate.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>

#include "collectives/catalogue.hpp"
#include "simulate/simulate.hpp"

namespace gyre::sim {

// Times agree with closed forms to this part of them.
inline constexpr double kExact = 1e-9;

inline void expect_seconds(double got, double expected) {
  EXPECT_NEAR(got, expected, kExact * expected);
}

struct CallOf {
  std::string_view algorithm;
  CollectiveKind kind;
  std::uint32_t world;
  std::uint64_t bytes;
  std::uint64_t slot_bytes = 0;  // 0: one tile
  Options options = {};
  std::uint32_t ranks_per_host = 1;
};

inline Result<Timeline> try_simulate(const CallOf& call, const Machine& machine) {
  const CatalogueEntry& entry = *find_schedule(call.algorithm, call.kind);
  const auto program = [&](std::uint32_t rank) {
    return entry.build(rank, call.world, 0, call.ranks_per_host);
  };
  const Message message = call.slot_bytes == 0
                              ? message_in_one_tile(call.kind, call.bytes, program(0))
                              : message_of(call.kind, call.bytes, program(0), call.slot_bytes);
  return simulate(program, call.world, machine, message, call.options);
}

inline Timeline timeline_of(const CallOf& call, const Machine& machine) {
  auto timeline = try_simulate(call, machine);
  EXPECT_TRUE(timeline) << timeline.error().text;
  return timeline ? *std::move(timeline) : Timeline{};
}

// All pairs alike, nothing shared.
inline Machine uniform(const LinkCost& link, const StepCost& step = {}) {
  Machine machine;
  machine.link = [link](std::uint32_t, std::uint32_t) { return link; };
  machine.step = step;
  return machine;
}

inline Machine machine_for(const Hosts& hosts, std::uint32_t world) {
  auto machine = machine_of(hosts, world);
  EXPECT_TRUE(machine) << machine.error().text;
  return *std::move(machine);
}

}  // namespace gyre::sim
