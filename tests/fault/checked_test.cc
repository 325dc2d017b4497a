// GYRE_CHECK=1: ranks that call different things learn at that very call who called what, before
// any buffer is written, also where the calls would have passed unnoticed.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

struct Views {
  std::string usual;  // the command of ranks 0, 1 and 3
  std::string usual_in_words;
  std::string odd;  // and of rank 2
  std::string odd_in_words;
};

constexpr int kOdd = 2;

class Checked : public testing::TestWithParam<Place> {
 protected:
  void expect_named(const Views& views) {
    Ranks ranks(4, GetParam().environment() + Environment{{"GYRE_CHECK", "1"}});
    ranks.init();
    ranks.expect_success(ranks.all(), "call all_reduce 1000 float32 sum 0");
    for (const int rank : ranks.all()) {
      ranks[rank].tell("call", "call " + (rank == kOdd ? views.odd : views.usual));
    }
    for (const int rank : ranks.all()) {
      const Report report = ranks[rank].report("call");
      SCOPED_TRACE("rank " + std::to_string(rank) + ": " + report.text);
      EXPECT_TRUE(report.code == kInvalidUsage || report.code == kRemoteError) << report.code;
      EXPECT_LT(report.took, kBound);
      expect_names(report, std::to_string(kOdd));
      EXPECT_NE(report.text.find(views.usual_in_words), std::string::npos);
      EXPECT_NE(report.text.find(views.odd_in_words), std::string::npos);
    }
  }
  TestLimit limit_;
};

TEST_P(Checked, Count) {
  expect_named({"all_reduce 100 float32 sum 0", "AllReduce of 100 x float, sum",
                "all_reduce 101 float32 sum 0", "AllReduce of 101 x float, sum"});
}
TEST_P(Checked, CountOfNothing) {
  expect_named({"all_reduce 100 float32 sum 0", "AllReduce of 100 x float, sum",
                "all_reduce 0 float32 sum 0", "AllReduce of 0 x float, sum"});
}
TEST_P(Checked, Type) {
  expect_named({"all_gather 7 float32 sum 0", "AllGather of 7 x float", "all_gather 7 int32 sum 0",
                "AllGather of 7 x int32"});
}
TEST_P(Checked, Operation) {
  expect_named({"reduce_scatter 100000 float32 sum 0", "ReduceScatter of 100000 x float, sum",
                "reduce_scatter 100000 float32 avg 0", "ReduceScatter of 100000 x float, avg"});
}
TEST_P(Checked, Collective) {
  expect_named({"all_reduce 100 float32 sum 0", "AllReduce of 100 x float, sum",
                "all_to_all 100 float32 sum 0", "AlltoAll of 100 x float"});
}
TEST_P(Checked, CollectiveOfTheSameShape) {
  expect_named({"gather 10 int8 sum 1", "Gather of 10 x int8, root 1", "scatter 10 int8 sum 1",
                "Scatter of 10 x int8, root 1"});
}
// So short that every root's data fits into the buffers of the lanes, and nobody would wait.
TEST_P(Checked, RootOfAShortBroadcast) {
  expect_named({"broadcast 3 float32 sum 0", "Broadcast of 3 x float, root 0",
                "broadcast 3 float32 sum 2", "Broadcast of 3 x float, root 2"});
}
TEST_P(Checked, RootOfALongBroadcast) {
  expect_named({"broadcast 400000 float64 sum 0", "Broadcast of 400000 x double, root 0",
                "broadcast 400000 float64 sum 2", "Broadcast of 400000 x double, root 2"});
}
TEST_P(Checked, RootOfAReduction) {
  expect_named({"reduce 5 float32 max 0", "Reduce of 5 x float, max, root 0",
                "reduce 5 float32 max 3", "Reduce of 5 x float, max, root 3"});
}

TEST_P(Checked, CallsThatAgreePass) {
  Ranks ranks(4, GetParam().environment() + Environment{{"GYRE_CHECK", "1"}});
  ranks.init();
  for (const std::string call :
       {"all_reduce 100 float32 sum 0", "broadcast 3 int8 sum 2", "all_gather 0 int8 sum 0",
        "reduce 50000 float64 max 1", "all_to_all 70 int32 sum 0", "scatter 9 float32 sum 3"}) {
    ranks.expect_success(ranks.all(), "call " + call);
  }
}

GYRE_EVERYWHERE(Checked);

}  // namespace
}  // namespace gyre::test
