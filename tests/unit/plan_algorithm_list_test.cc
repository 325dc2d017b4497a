#include <gtest/gtest.h>

#include "plan/algorithm_list.hpp"

namespace gyre {
namespace {

AllowedAlgorithms allowed(std::string_view text) {
  const auto lists = read_algorithm_list(text);
  EXPECT_TRUE(lists) << text << ": " << lists.error().text;
  return lists ? *lists : AllowedAlgorithms{};
}

AlgorithmSet allowed(std::string_view text, CallKind kind) { return allowed(text)[index_of(kind)]; }

constexpr AlgorithmSet kRings = bit_of(Algorithm::ring) | bit_of(Algorithm::two_rings);
constexpr AlgorithmSet kTrees =
    bit_of(Algorithm::tree) | bit_of(Algorithm::double_tree) | bit_of(Algorithm::binomial);

void expect_rings_alone(std::string_view text) {
  for (const CallKind kind : {CallKind::broadcast, CallKind::reduce, CallKind::all_gather,
                              CallKind::reduce_scatter, CallKind::all_reduce}) {
    EXPECT_EQ(allowed(text, kind), kRings) << text;
  }
  EXPECT_EQ(allowed(text, CallKind::gather), kAllAlgorithms) << text;
}

void expect_free(std::string_view text) {
  for (const AlgorithmSet set : allowed(text)) EXPECT_EQ(set, kAllAlgorithms) << text;
}

void expect_refused(std::string_view text, std::string_view named) {
  const auto kinds = read_algorithm_list(text);
  ASSERT_FALSE(kinds) << text;
  EXPECT_EQ(kinds.status(), Status::invalid_usage);
  EXPECT_NE(kinds.error().text.find("NCCL_ALGO"), std::string::npos);
  EXPECT_NE(kinds.error().text.find(named), std::string::npos) << kinds.error().text;
}

TEST(AlgorithmList, NothingLeavesTheChoiceFree) { expect_free(""); }

TEST(AlgorithmList, RingAlone) {
  expect_rings_alone("Ring");
  expect_rings_alone("RING");
  expect_rings_alone("ring,ring");
}

TEST(AlgorithmList, ListsAreObeyedToTheLetter) {
  EXPECT_EQ(allowed("Tree,Ring", CallKind::all_reduce), kRings | kTrees);
  EXPECT_EQ(allowed("PAT,Ring", CallKind::all_gather), kRings | bit_of(Algorithm::bruck));
}

TEST(AlgorithmList, ExclusionsLeaveWhatHasNoName) {
  EXPECT_EQ(allowed("^Tree", CallKind::all_reduce), kAllAlgorithms & ~kTrees);
  EXPECT_EQ(allowed("^Ring,Tree", CallKind::all_reduce), kAllAlgorithms & ~kTrees & ~kRings);
  expect_free("^nvls,NVLSTREE");
}

TEST(AlgorithmList, EntriesOfFunctions) {
  EXPECT_EQ(allowed("allreduce:ring", CallKind::all_reduce), kRings);
  EXPECT_EQ(allowed("allreduce:ring", CallKind::broadcast), kAllAlgorithms);
  EXPECT_EQ(allowed("AllGather:Ring;broadcast:RING", CallKind::broadcast), kRings);
  EXPECT_EQ(allowed("Ring;ReduceScatter:Ring,PAT", CallKind::reduce_scatter),
            kRings | bit_of(Algorithm::bruck));
  EXPECT_EQ(allowed("Ring;ReduceScatter:Ring,PAT", CallKind::reduce), kRings);
}

TEST(AlgorithmList, AListForAllLeavesAloneWhoHasNoneOfIt) {
  EXPECT_EQ(allowed("Tree", CallKind::all_reduce), kTrees);
  EXPECT_EQ(allowed("Tree", CallKind::all_gather), kAllAlgorithms);
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
  expect_refused("NVLS", "every function");
  expect_refused("allgather:tree", "AllGather");
  expect_refused("allreduce:nvls,pat", "AllReduce");
  expect_rings_alone("NVLS;Ring");  // the later entry counts
}

}  // namespace
}  // namespace gyre
