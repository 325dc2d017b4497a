#include <gtest/gtest.h>

#include "plan/algorithm_list.hpp"

namespace gyre {
namespace {

constexpr std::uint32_t kAll = bit_of(CallKind::broadcast) | bit_of(CallKind::reduce) |
                               bit_of(CallKind::all_gather) | bit_of(CallKind::reduce_scatter) |
                               bit_of(CallKind::all_reduce);

std::uint32_t ring_only(std::string_view text) {
  const auto kinds = read_algorithm_list(text);
  EXPECT_TRUE(kinds) << text << ": " << kinds.error().text;
  return kinds ? *kinds : ~0U;
}

void expect_refused(std::string_view text, std::string_view named) {
  const auto kinds = read_algorithm_list(text);
  ASSERT_FALSE(kinds) << text;
  EXPECT_EQ(kinds.status(), Status::invalid_usage);
  EXPECT_NE(kinds.error().text.find("NCCL_ALGO"), std::string::npos);
  EXPECT_NE(kinds.error().text.find(named), std::string::npos) << kinds.error().text;
}

TEST(AlgorithmList, NothingLeavesTheChoiceFree) { EXPECT_EQ(ring_only(""), 0U); }

TEST(AlgorithmList, RingAloneIsForced) {
  EXPECT_EQ(ring_only("Ring"), kAll);
  EXPECT_EQ(ring_only("RING"), kAll);
  EXPECT_EQ(ring_only("ring,ring"), kAll);
  EXPECT_EQ(ring_only("^Tree,CollnetDirect,CollnetChain,NVLS,NVLSTree,PAT"), kAll);
}

TEST(AlgorithmList, OthersBesideRingLeaveTheChoiceFree) {
  EXPECT_EQ(ring_only("Tree,Ring"), 0U);
  EXPECT_EQ(ring_only("^Tree"), 0U);
  EXPECT_EQ(ring_only("^nvls,NVLSTREE"), 0U);
}

TEST(AlgorithmList, EntriesOfFunctions) {
  EXPECT_EQ(ring_only("allreduce:ring"), bit_of(CallKind::all_reduce));
  EXPECT_EQ(ring_only("AllGather:Ring;broadcast:RING"),
            bit_of(CallKind::all_gather) | bit_of(CallKind::broadcast));
  EXPECT_EQ(ring_only("Ring;ReduceScatter:Ring,PAT"), kAll & ~bit_of(CallKind::reduce_scatter));
  EXPECT_EQ(ring_only("reduce:^tree"), 0U);
}

TEST(AlgorithmList, UnknownWordsAreNamed) {
  expect_refused("Rung", "\"Rung\"");

  expect_refused("Ring,Square", "\"Square\"");
  expect_refused("^", "\"\"");
  expect_refused("allreduse:Ring", "\"allreduse\"");
  expect_refused("allreduce:", "\"\"");
  expect_refused(";", "\"\"");
  expect_refused(" Ring", "\" Ring\"");
  expect_refused("allreduce:ring:tree", "\"ring:tree\"");
}

TEST(AlgorithmList, AListMustLeaveSomething) {
  expect_refused("Tree", "Broadcast");
  expect_refused("^Ring", "no algorithm");
  expect_refused("allreduce:nvls,tree", "AllReduce");
  EXPECT_EQ(ring_only("Tree;Ring"), kAll);  // the later entry counts
}

}  // namespace
}  // namespace gyre
