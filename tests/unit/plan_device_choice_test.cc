// What device ranks decide about a call: the same on all of them, and nothing is left out.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "kernels/device/work.hpp"
#include "plan/device_choice.hpp"
#include "plan/forced_algorithm.hpp"

namespace gyre {
namespace {

constexpr int kMostRanks = 9;
constexpr std::uint64_t kCounts[] = {0, 1, 63, 1000, 65'537, 1'000'003};

PlanFacts facts_of(int world) {
  PlanFacts facts;
  facts.world = world;
  facts.slot_bytes = 128 << 10;
  facts.one_shot_bytes = 64 << 20;
  return facts;
}

Call call_of(CallKind kind, std::uint64_t count, DataType type = DataType::float32) {
  Call call;
  call.kind = kind;
  call.type = type;
  call.count = count;
  return call;
}

Call all_reduce(std::uint64_t count, ReduceOp op = ReduceOp::sum,
                DataType type = DataType::float32) {
  Call call = call_of(CallKind::all_reduce, count, type);
  call.op = op;
  return call;
}

std::vector<DeviceFacts> all_devices() {
  std::vector<DeviceFacts> all;
  for (const std::uint32_t channels : {2U, 3U, 32U}) {
    for (const bool one_process : {false, true}) {
      all.push_back({.channels = channels, .slot_bytes = 128 << 10, .one_process = one_process});
    }
  }
  return all;
}

// Of every rank.
std::vector<DevicePlan> plans_of(const Call& call, const PlanFacts& facts,
                                 const DeviceFacts& device, Algorithm algorithm) {
  std::vector<DevicePlan> plans;
  for (int rank = 0; rank < facts.world; ++rank) {
    const Program program =
        build_program(call.kind, algorithm, rank, facts.world, call.root, facts.ranks_per_host);
    plans.push_back(device_plan(call, rank, facts, device, algorithm,
                                device_schedule(call, facts, algorithm), program));
  }
  return plans;
}

std::vector<Algorithm> algorithms_of(CallKind kind, int world) {
  std::vector<Algorithm> all;
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto* schedule = schedule_of(kind, static_cast<Algorithm>(i));
    if (schedule != nullptr && static_cast<std::uint32_t>(world) <= schedule->max_world) {
      all.push_back(static_cast<Algorithm>(i));
    }
  }
  return all;
}

struct Buffers {
  std::uint64_t input, output;  // elements
};

Buffers buffers_of(const Call& call, int world) {
  const std::uint64_t one = call.count, all = call.count * static_cast<std::uint64_t>(world);
  switch (call.kind) {
    case CallKind::all_gather:
    case CallKind::gather:
      return {one, all};
    case CallKind::reduce_scatter:
    case CallKind::scatter:
      return {all, one};
    case CallKind::all_to_all:
      return {all, all};
    default:
      return {one, one};
  }
}

// Whether the tiles hold each of `count` elements once.
testing::AssertionResult covers(const Layout& layout, std::uint64_t tiles, std::uint64_t count) {
  std::vector<Extent> extents;
  for (std::uint64_t tile = 0; tile < tiles; ++tile) {
    for (std::uint32_t chunk = 0; chunk < layout.chunks; ++chunk) {
      const Extent extent = layout.extent(tile, chunk);
      if (extent.count > layout.slice) return testing::AssertionFailure() << "a chunk is too long";
      if (extent.count != 0) extents.push_back(extent);
    }
  }
  std::sort(extents.begin(), extents.end(),
            [](const Extent& one, const Extent& other) { return one.offset < other.offset; });
  std::uint64_t done = 0;
  for (const Extent& extent : extents) {
    if (extent.offset != done) {
      return testing::AssertionFailure() << "at " << extent.offset << ", not at " << done;
    }
    done += extent.count;
  }
  if (done == count) return testing::AssertionSuccess();
  return testing::AssertionFailure() << done << " elements of " << count;
}

std::string name_of_case(const Call& call, Algorithm algorithm, const PlanFacts& facts,
                         const DeviceFacts& device) {
  return std::string(name_of(call.kind)) + " of " + std::to_string(call.count) + " " +
         std::string(name_of(call.type)) + ", " + std::string(name_of(call.op)) + ", " +
         std::string(name_of(algorithm)) + ", root " + std::to_string(call.root) + " of " +
         std::to_string(facts.world) + ", " + std::to_string(device.channels) + " channels" +
         (device.one_process ? " in one process" : "");
}

// Every rank must wait for what the others do, in as many blocks and for as many tiles.
void expect_alike(const std::vector<DevicePlan>& plans) {
  for (const DevicePlan& plan : plans) {
    EXPECT_EQ(plan.channels, plans[0].channels);
    EXPECT_EQ(plan.striped, plans[0].striped);
    EXPECT_EQ(plan.exchange, plans[0].exchange);
    EXPECT_EQ(plan.threads, plans[0].threads);
    EXPECT_EQ(plan.asks, plans[0].asks);
    EXPECT_EQ(plan.mapped_slice, plans[0].mapped_slice);
    EXPECT_EQ(plan.mapped_tiles, plans[0].mapped_tiles);
    EXPECT_EQ(plan.plan.tiles, plans[0].plan.tiles);
    EXPECT_EQ(plan.plan.input.slice, plans[0].plan.input.slice);
    EXPECT_EQ(plan.plan.output.slice, plans[0].plan.output.slice);
    EXPECT_EQ(plan.plan.by_reference, plans[0].plan.by_reference);
  }
}

// There are lanes for so many blocks, and slots for such messages.
void expect_fits(const DevicePlan& plan, const Call& call, const PlanFacts& facts,
                 const DeviceFacts& device, Algorithm algorithm) {
  const std::uint32_t strands = device_schedule(call, facts, algorithm).strands;
  EXPECT_GE(plan.channels, 1U);
  EXPECT_LE(plan.channels * strands, device.channels);
  EXPECT_TRUE(!plan.striped || device.one_process);
  if (plan.exchange) {
    const std::uint64_t lines =
        (call.count * size_of(call.type) + device::kLinePayload - 1) / device::kLinePayload;
    EXPECT_LE((lines + plan.channels - 1) / plan.channels,
              device::kExchangeLines * device::kExchangePasses);
  } else if (!plan.striped) {
    const auto* schedule = schedule_of(call.kind, algorithm);
    const std::uint64_t run = schedule->longest_run(static_cast<std::uint32_t>(facts.world), 1);
    EXPECT_LE(plan.plan.input.slice * size_of(call.type) * run, device.slot_bytes);
  }
}

// As kernels cut it once all ranks reach all buffers.
Layout cut(Layout layout, const DevicePlan& plan) {
  layout.slice = plan.mapped_slice;
  return layout;
}

void check_call(const Call& call, const PlanFacts& facts, const DeviceFacts& device,
                Algorithm algorithm) {
  SCOPED_TRACE(name_of_case(call, algorithm, facts, device));
  const std::vector<DevicePlan> plans = plans_of(call, facts, device, algorithm);
  expect_alike(plans);
  const Plan& plan = plans[0].plan;
  const Buffers buffers = buffers_of(call, facts.world);
  EXPECT_TRUE(covers(plan.input, plan.tiles, buffers.input)) << "input";
  EXPECT_TRUE(covers(plan.output, plan.tiles, buffers.output)) << "output";
  expect_fits(plans[0], call, facts, device, algorithm);
  if (!plans[0].asks) return;
  EXPECT_FALSE(device.one_process || plans[0].striped || plans[0].exchange);
  EXPECT_TRUE(covers(cut(plan.input, plans[0]), plans[0].mapped_tiles, buffers.input)) << "input";
  EXPECT_TRUE(covers(cut(plan.output, plans[0]), plans[0].mapped_tiles, buffers.output));
}

// By the number of ranks.
class DeviceChoice : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Worlds, DeviceChoice, testing::Range(1, kMostRanks + 1));

TEST(DeviceQuestion, IsAskedForLargeCallsOfSeveralProcesses) {
  const PlanFacts facts = facts_of(2);
  DeviceFacts device{.channels = 32, .slot_bytes = 128 << 10, .map_bytes = 2 << 20};
  const auto asks = [&](const Call& call) {
    return plans_of(call, facts, device, device_algorithm(call, facts))[0].asks;
  };
  EXPECT_TRUE(asks(all_reduce(1 << 19)));
  EXPECT_FALSE(asks(all_reduce((1 << 19) - 1)));
  EXPECT_FALSE(asks(all_reduce(1 << 19, ReduceOp::premulsum)));
  const Call call = all_reduce(1 << 19);
  EXPECT_FALSE(plans_of(call, facts, device, Algorithm::ring)[0].asks) << "other bits once mapped";
  device.one_process = true;
  EXPECT_FALSE(asks(call));
}

TEST_P(DeviceChoice, EverySchedulePlansAlikeOnAllRanks) {
  const PlanFacts facts = facts_of(GetParam());
  for (const CallKind kind : kPlannedKinds) {
    for (const Algorithm algorithm : algorithms_of(kind, facts.world)) {
      for (const DeviceFacts& device : all_devices()) {
        for (const std::uint64_t count : kCounts) {
          Call call = call_of(kind, count);
          call.root = facts.world - 1;
          check_call(call, facts, device, algorithm);
        }
      }
    }
  }
}

TEST_P(DeviceChoice, WhateverTypeAndOperation) {
  const PlanFacts facts = facts_of(GetParam());
  for (const DataType type : {DataType::uint8, DataType::bfloat16, DataType::float64}) {
    for (int op = 0; op < kReduceOps; ++op) {
      for (const DeviceFacts& device : all_devices()) {
        for (const std::uint64_t count : kCounts) {
          const Call call = all_reduce(count, static_cast<ReduceOp>(op), type);
          check_call(call, facts, device, device_algorithm(call, facts));
        }
      }
    }
  }
}

TEST_P(DeviceChoice, AShortenedSliceIsTheMostThatARankSends) {
  PlanFacts facts = facts_of(GetParam());
  ASSERT_TRUE(force_algorithms("all_reduce:one_shot@16K;all_gather:direct@16K", facts));
  for (const CallKind kind : {CallKind::all_reduce, CallKind::all_gather}) {
    for (const DeviceFacts& device : all_devices()) {
      for (const std::uint64_t count : kCounts) {
        const Call call = call_of(kind, count);
        check_call(call, facts, device, device_algorithm(call, facts));
        const DevicePlan plan = plans_of(call, facts, device, device_algorithm(call, facts))[0];
        EXPECT_LE(plan.plan.input.slice * size_of(call.type), 16U << 10);
        EXPECT_FALSE(plan.striped || plan.exchange);
      }
    }
  }
}

// Of different lengths, one of them nothing.
TEST_P(DeviceChoice, BlocksWithCountsOfTheirOwn) {
  const PlanFacts facts = facts_of(GetParam());
  const auto world = static_cast<std::size_t>(facts.world);
  std::vector<std::uint64_t> counts, offsets;
  std::uint64_t total = 0;
  for (std::size_t rank = 0; rank < world; ++rank) {
    offsets.push_back(total);
    counts.push_back(rank == 1 ? 0 : 100'000 * rank + 7);
    total += counts.back();
  }
  auto blocks = std::make_shared<BlockTable>();
  for (const CallKind kind : {CallKind::all_gather_v, CallKind::reduce_scatter_v}) {
    const bool gathers = kind == CallKind::all_gather_v;
    *blocks = {};
    (gathers ? blocks->receive_counts : blocks->send_counts) = counts;
    (gathers ? blocks->receive_offsets : blocks->send_offsets) = offsets;
    Call call = call_of(kind, 0);
    call.blocks = blocks;
    EXPECT_EQ(device_algorithm(call, facts), Algorithm::direct);
    for (const DeviceFacts& device : all_devices()) {
      SCOPED_TRACE(name_of_case(call, Algorithm::direct, facts, device));
      const auto plans = plans_of(call, facts, device, Algorithm::direct);
      expect_alike(plans);
      for (std::size_t rank = 0; rank < world; ++rank) {
        const Plan& plan = plans[rank].plan;
        const auto& [own, all] =
            gathers ? std::tie(plan.input, plan.output) : std::tie(plan.output, plan.input);
        EXPECT_TRUE(covers(own, plan.tiles, counts[rank])) << "own block of " << rank;
        EXPECT_TRUE(covers(all, plan.tiles, total)) << "all blocks";
      }
    }
  }
}

TEST_P(DeviceChoice, TheUsualScheduleIsThere) {
  const PlanFacts facts = facts_of(GetParam());
  for (const CallKind kind : kPlannedKinds) {
    for (const std::uint64_t count : kCounts) {
      const Algorithm usual = device_algorithm(call_of(kind, count), facts);
      const auto all = algorithms_of(kind, facts.world);
      EXPECT_NE(std::find(all.begin(), all.end(), usual), all.end()) << name_of(kind);
    }
  }
}

TEST(DeviceChoice, SmallAllReducesTakeOneStep) {
  const PlanFacts facts = facts_of(4);
  const DeviceFacts device{.channels = 32, .slot_bytes = 128 << 10, .one_process = true};
  const Call small = all_reduce(1000), large = all_reduce(1'000'000);
  EXPECT_EQ(device_algorithm(small, facts), Algorithm::one_shot);
  EXPECT_EQ(device_algorithm(large, facts), Algorithm::two_shot);
  EXPECT_TRUE(plans_of(small, facts, device, Algorithm::one_shot)[0].exchange);
  PlanFacts without = facts;
  without.short_form = {};
  EXPECT_FALSE(plans_of(small, without, device, Algorithm::one_shot)[0].exchange);
  without.one_shot_bytes = 0;
  EXPECT_EQ(device_algorithm(small, without), Algorithm::two_shot);
}

TEST(DeviceChoice, TheUsersScheduleRunsButForAveragesThatWouldOverflow) {
  PlanFacts facts = facts_of(4);
  ASSERT_TRUE(force_algorithms("all_reduce:ring", facts));
  EXPECT_EQ(device_algorithm(all_reduce(1000), facts), Algorithm::ring);
  EXPECT_EQ(device_algorithm(all_reduce(1000, ReduceOp::avg), facts), Algorithm::one_shot);
}

TEST(DeviceMessages, AreCutAlikeOnBothSides) {
  for (const DeviceFacts& device : all_devices()) {
    for (std::uint32_t world = 1; world <= kMostRanks; ++world) {
      const MessageSpread spread = message_spread(world, device);
      for (const std::uint64_t count : kCounts) {
        const Call sent = call_of(CallKind::send, count, DataType::bfloat16);
        Call received = sent;
        received.kind = CallKind::receive;
        const std::vector<DevicePlan> plans = {device_message_plan(sent, spread, device),
                                               device_message_plan(received, spread, device)};
        expect_alike(plans);
        for (const DevicePlan& plan : plans) {
          EXPECT_TRUE(covers(plan.plan.input, plan.plan.tiles, count));
          EXPECT_TRUE(covers(plan.plan.output, plan.plan.tiles, count));
          EXPECT_TRUE(device.one_process || plan.plan.input.slice * 2 <= device.slot_bytes);
        }
      }
    }
  }
}

}  // namespace
}  // namespace gyre
