#include <gtest/gtest.h>

#include <string>

#include "plan/forced_algorithm.hpp"

namespace gyre {
namespace {

PlanFacts facts_of(int world) {
  PlanFacts facts;
  facts.world = world;
  facts.slot_bytes = 128 << 10;
  return facts;
}

Plan plan_of(const Call& call, const PlanFacts& facts) {
  const Choice choice = choice_for(call, facts);
  return make_plan(
      call, 0, facts, choice,
      build_program(call.kind, choice.algorithm, 0, facts.world, 0, facts.ranks_per_host));
}

// On the host the chunks of a buffer lie one behind the other, and no tile is lost by that.
TEST(PlanLayout, EveryChunkHasAPartOfItsOwn) {
  const PlanFacts facts = facts_of(5);
  for (const std::uint64_t count : {1U, 4U, 5U, 79U, 100'000U, 3'000'001U}) {
    Call call;
    call.count = count;
    const Program program = build_program(call.kind, Algorithm::two_shot, 0, facts.world, 0);
    const Choice choice{Algorithm::two_shot, 0};
    const Plan parted = make_plan(call, 0, facts, choice, program);
    const Plan tiled = make_plan(call, 0, facts, choice, program, {.whole = Layout::Kind::tiled});
    EXPECT_EQ(parted.tiles, tiled.tiles) << count;
    std::uint64_t end = 0;
    for (std::uint32_t chunk = 0; chunk < parted.output.chunks; ++chunk) {
      EXPECT_EQ(parted.output.block(chunk).offset, end) << count;
      end += parted.output.block(chunk).count;
    }
    EXPECT_EQ(end, count);
  }
}

Algorithm forced(std::string_view text, CallKind kind, PlanFacts facts = facts_of(5)) {
  const auto done = force_algorithms(text, facts);
  EXPECT_TRUE(done) << text << ": " << done.error().text;
  const Forced& one = facts.forced[static_cast<std::size_t>(kind)];
  EXPECT_NE(one.schedule, nullptr) << text;
  return one.algorithm;
}

void expect_refused(std::string_view text, std::string_view named, PlanFacts facts = facts_of(5)) {
  const auto done = force_algorithms(text, facts);
  ASSERT_FALSE(done) << text;
  EXPECT_EQ(done.status(), Status::invalid_usage);
  EXPECT_NE(done.error().text.find("GYRE_ALGO"), std::string::npos) << done.error().text;
  EXPECT_NE(done.error().text.find(named), std::string::npos) << done.error().text;
}

TEST(ForcedAlgorithm, NothingForcesNothing) {
  PlanFacts facts = facts_of(4);
  ASSERT_TRUE(force_algorithms("", facts));
  for (const Forced& one : facts.forced) EXPECT_EQ(one.schedule, nullptr);
}

TEST(ForcedAlgorithm, NamesInAnyCaseWithOrWithoutUnderscores) {
  EXPECT_EQ(forced("all_reduce:halving_doubling", CallKind::all_reduce),
            Algorithm::halving_doubling);
  EXPECT_EQ(forced("AllReduce:HalvingDoubling", CallKind::all_reduce), Algorithm::halving_doubling);
}

TEST(ForcedAlgorithm, ANameAloneIsForAllThatHaveIt) {
  PlanFacts facts = facts_of(4);
  ASSERT_TRUE(force_algorithms("binomial", facts));
  for (const CallKind kind : {CallKind::broadcast, CallKind::reduce, CallKind::gather}) {
    EXPECT_NE(facts.forced[static_cast<std::size_t>(kind)].schedule, nullptr);
  }
  EXPECT_EQ(facts.forced[static_cast<std::size_t>(CallKind::all_reduce)].schedule, nullptr);
}

TEST(ForcedAlgorithm, TheLaterEntryCounts) {
  EXPECT_EQ(forced("hierarchical;all_gather:bruck", CallKind::all_gather), Algorithm::bruck);
  EXPECT_EQ(forced("hierarchical;all_gather:bruck", CallKind::all_reduce), Algorithm::hierarchical);
}

TEST(ForcedAlgorithm, EveryEntryOfTheCatalogueCanBeNamed) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.kind == CollectiveKind::barrier) continue;
    PlanFacts facts = facts_of(3);
    const std::string text = std::string(name_of(entry.kind)) + ":" + std::string(entry.algorithm);
    EXPECT_TRUE(force_algorithms(text, facts)) << text;
  }
}

TEST(ForcedAlgorithm, UnknownWordsAreNamed) {
  expect_refused("rung", "\"rung\"");
  expect_refused("all_reduse:ring", "\"all_reduse\"");
  expect_refused("broadcast:star", "it has ring, binomial, double_tree, direct");
  expect_refused("send:ring", "\"send\"");
}

TEST(ForcedAlgorithm, WhatDoesNotFitIsRefusedWithTheReason) {
  PlanFacts facts = facts_of(1000);
  facts.slot_bytes = 4096;
  expect_refused("all_reduce:halving_doubling", "GYRE_SLOT_BYTES", facts);
  expect_refused("two_rings", "32767", facts_of(40'000));
  facts = facts_of(4);
  facts.reproducible = true;
  expect_refused("all_reduce:ring", "take star, one_shot, two_shot", facts);
  EXPECT_EQ(forced("all_reduce:star", CallKind::all_reduce, facts), Algorithm::star);
}

TEST(ForcedAlgorithm, SlicesAreAskedForWithTheName) {
  PlanFacts facts = facts_of(4);
  ASSERT_TRUE(force_algorithms("all_reduce:tree@16K", facts));
  EXPECT_EQ(facts.forced[index_of(CallKind::all_reduce)].slice_bytes, 16U << 10);
  Call call;
  call.count = 1 << 20;
  EXPECT_EQ(plan_of(call, facts).input.slice * size_of(call.type), 16U << 10);
  expect_refused("tree@15K", "power of two");
  expect_refused("tree@", "power of two");
  expect_refused("tree@banana", "\"banana\"");
  expect_refused("all_reduce:halving_doubling@64", "at least 128 bytes", facts_of(5));
}

TEST(ForcedAlgorithm, AveragesAreFoldedInOnePlaceAllTheSame) {
  PlanFacts facts = facts_of(4);
  ASSERT_TRUE(force_algorithms("all_reduce:recursive_doubling", facts));
  Call call;
  call.count = 1 << 20;
  EXPECT_EQ(plan_of(call, facts).algorithm, Algorithm::recursive_doubling);
  call.op = ReduceOp::avg;
  EXPECT_EQ(plan_of(call, facts).algorithm, Algorithm::two_shot);
}

TEST(ForcedAlgorithm, AMessageOfManyChunksFitsInASlot) {
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.kind == CollectiveKind::barrier) continue;
    for (const int world : {1, 2, 3, 8, 12}) {
      PlanFacts facts = facts_of(world);
      facts.ranks_per_host = world % 2 == 0 ? world / 2 : 1;
      const std::string text =
          std::string(name_of(entry.kind)) + ":" + std::string(entry.algorithm);
      ASSERT_TRUE(force_algorithms(text, facts)) << text;
      Call call;
      for (int kind = 0; kind < static_cast<int>(kCallKinds); ++kind) {
        if (collective_of(static_cast<CallKind>(kind)) == entry.kind) {
          call.kind = static_cast<CallKind>(kind);
        }
      }
      call.count = 10'000'019;
      const Plan plan = plan_of(call, facts);
      const auto per_host = static_cast<std::uint32_t>(facts.ranks_per_host);
      const std::uint64_t run = entry.longest_run(static_cast<std::uint32_t>(world), per_host);
      EXPECT_LE(run * plan.input.slice * size_of(call.type), facts.slot_bytes) << text;
      EXPECT_EQ(plan.input.slice, plan.output.slice) << text;
    }
  }
}

}  // namespace
}  // namespace gyre
