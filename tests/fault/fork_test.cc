// Children forked after init: whatever they do, the parent's communicator is untouched, and calls
// in the child are refused.
#include <gtest/gtest.h>

#include <string>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

class Fork : public testing::TestWithParam<Place> {
 protected:
  Fork() : ranks_(3, GetParam().environment()) { ranks_.init(); }

  void fork_and_go_on(const std::string& what) {
    ranks_.expect_success(ranks_.all(), "all_reduce 100000");
    ranks_.expect_success(ranks_.all(), "fork " + what);
    ranks_.expect_success(ranks_.all(), "all_reduce 100000");
    ranks_.expect_success(ranks_.all(), "split 0");
    ranks_.expect_success(ranks_.all(), "all_reduce 100000");
    ranks_.expect_success(ranks_.all(), "destroy");
    ranks_.expect_success(ranks_.all(), "destroy");
  }

  TestLimit limit_;
  Ranks ranks_;
};

TEST_P(Fork, AChildThatEndsAtOnce) { fork_and_go_on("exit"); }

TEST_P(Fork, AChildThatRunsExitHandlers) { fork_and_go_on("handlers"); }

TEST_P(Fork, AChildThatExecutesAnotherProgram) { fork_and_go_on("exec"); }

TEST_P(Fork, CallsInAChildAreRefused) { fork_and_go_on("call"); }

// The child lives on: it must not keep the connections of its dead parent open.
TEST_P(Fork, AChildDoesNotHideItsParentsDeath) {
  ranks_.expect_success({2}, "fork linger");
  const Clock::time_point killed = ranks_[2].kill();
  for (const Report& report : ranks_.ask({0, 1}, "all_reduce 100000")) {
    EXPECT_EQ(report.code, kRemoteError) << report.text;
    EXPECT_LT(report.at - killed, kBound) << report.text;
    expect_names(report, "2");
  }
}

GYRE_EVERYWHERE(Fork);

}  // namespace
}  // namespace gyre::test
