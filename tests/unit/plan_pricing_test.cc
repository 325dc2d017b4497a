#include <gtest/gtest.h>

#include "plan/forced_algorithm.hpp"
#include "plan/pricing.hpp"

namespace gyre {
namespace {

PlanFacts facts_of(MachineFacts machine, int per_host) {
  PlanFacts facts;
  facts.world = static_cast<int>(machine.world());
  facts.ranks_per_host = per_host;
  facts.slot_bytes = 128 << 10;
  facts.one_shot_bytes = 64 << 20;
  facts.allowed.fill(kAllAlgorithms);
  facts.machine = std::move(machine);
  return facts;
}

PlanFacts one_host(std::uint32_t ranks) {
  return facts_of(alike_hosts(1, ranks, {2, 0}, true), static_cast<int>(ranks));
}

Choices choose(const PlanFacts& facts, const TuningTable& table = {}) {
  return Pricing(facts, table).choose();
}

TuningRow measured(Algorithm algorithm, std::uint64_t bytes, double microseconds) {
  return {CallKind::all_reduce, {4, 4, true}, bytes, {algorithm, 0}, microseconds * 1e-6};
}

TEST(Pricing, TheChosenOnesCanRun) {
  for (const std::uint32_t ranks : {1U, 2U, 3U, 8U, 64U, 100U, 1000U}) {
    const PlanFacts facts = one_host(ranks);
    const Choices choices = choose(facts);
    for (const CallKind kind : kPlannedKinds) {
      for (const bool fixed_order : {false, true}) {
        for (int size = 0; size < kSizeClasses; ++size) {
          const Decision& decision = choices.at(kind, fixed_order, size);
          const auto* schedule = schedule_of(kind, decision.choice.algorithm);
          ASSERT_NE(schedule, nullptr);
          EXPECT_TRUE(check_fits(*schedule, facts, decision.choice.slice_bytes));
          EXPECT_GT(decision.seconds, 0);
          EXPECT_TRUE(schedule->fixed_order || !fixed_order || !reduces(kind));
        }
      }
    }
  }
}

TEST(Pricing, AMeasuredTableDecides) {
  const PlanFacts facts = one_host(4);
  TuningTable table;
  table.add(measured(Algorithm::ring, 1024, 5));
  table.add(measured(Algorithm::star, 1024, 50));
  table.add(measured(Algorithm::ring, 1 << 20, 500));
  table.add(measured(Algorithm::star, 1 << 20, 50));
  const Choices choices = choose(facts, table);
  EXPECT_EQ(choices.at(CallKind::all_reduce, false, 10).choice.algorithm, Algorithm::ring);
  EXPECT_EQ(choices.at(CallKind::all_reduce, false, 20).choice.algorithm, Algorithm::star);
  EXPECT_NEAR(choices.at(CallKind::all_reduce, false, 20).seconds, 50e-6, 1e-9);
  // Other collectives, and where order matters, as before: nothing of theirs was measured.
  const Choices before = choose(facts);
  EXPECT_EQ(choices.at(CallKind::broadcast, false, 20), before.at(CallKind::broadcast, false, 20));
}

TEST(Pricing, MeasurementsOfOtherCommunicatorsDoNotCount) {
  TuningTable table;
  table.add(measured(Algorithm::star, 1024, 0.001));
  EXPECT_EQ(choose(one_host(3), table), choose(one_host(3)));
  PlanFacts facts = one_host(4);
  facts.machine.memory_within_hosts = false;
  EXPECT_EQ(choose(facts, table), choose(facts));
}

TEST(Pricing, TheUsersListsAreObeyed) {
  PlanFacts facts = one_host(4);
  facts.allowed = *read_algorithm_list("Tree");
  const Choices choices = choose(facts);
  for (int size = 0; size < kSizeClasses; ++size) {
    const Algorithm taken = choices.at(CallKind::all_reduce, false, size).choice.algorithm;
    EXPECT_TRUE(taken == Algorithm::tree || taken == Algorithm::double_tree);
    const Algorithm fixed = choices.at(CallKind::all_reduce, true, size).choice.algorithm;
    EXPECT_TRUE(schedule_of(CallKind::all_reduce, fixed)->fixed_order);
  }
}

TEST(Pricing, OneShotEndsWhereItIsTold) {
  PlanFacts facts = one_host(2);
  facts.one_shot_bytes = 0;
  const Choices choices = choose(facts);
  for (int size = 0; size < kSizeClasses; ++size) {
    EXPECT_NE(choices.at(CallKind::all_reduce, false, size).choice.algorithm, Algorithm::one_shot);
  }
}

TEST(Pricing, AWishIsPricedAsWell) {
  PlanFacts facts = one_host(4);
  ASSERT_TRUE(force_algorithms("all_reduce:ring@8K", facts));
  const Choices choices = choose(facts);
  EXPECT_EQ(choices.at(CallKind::all_reduce, false, 20).choice, (Choice{Algorithm::ring, 8 << 10}));
  EXPECT_NE(choices.at(CallKind::all_reduce, true, 20).choice.algorithm, Algorithm::ring);
}

// What the planner is told of one slow NIC changes the plan of all; the plan is one value, so that
// ranks cannot differ in it.
TEST(Pricing, OneSlowNicIsTakenIntoAccount) {
  MachineFacts machine = alike_hosts(4, 4, {4, 25e9}, true);
  const Choices fast = choose(facts_of(machine, 4));
  machine.hosts[2].nic_bytes_per_second = 0.1e9;
  const Choices slow = choose(facts_of(machine, 4));
  EXPECT_GT(slow.at(CallKind::all_reduce, false, 28).seconds,
            10 * fast.at(CallKind::all_reduce, false, 28).seconds);
}

TEST(Pricing, HierarchicalSchedulesNeedHosts) {
  for (const Candidate& one : candidates_for(CallKind::all_reduce, false, one_host(4))) {
    EXPECT_FALSE(one.schedule->hosts);
  }
  bool any = false;
  const PlanFacts facts = facts_of(alike_hosts(2, 4, {4, 0}, true), 4);
  for (const Candidate& one : candidates_for(CallKind::all_reduce, false, facts)) {
    any = any || one.schedule->hosts;
  }
  EXPECT_TRUE(any);
}

}  // namespace
}  // namespace gyre
