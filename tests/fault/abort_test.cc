// Abort and destroy are local: they end at once whatever the peers do, and take nothing from the
// peers that was theirs already.
#include <gtest/gtest.h>

#include <string>
#include <tuple>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

class Abort : public testing::TestWithParam<Place> {
 protected:
  TestLimit limit_;
};

TEST_P(Abort, FromAWatchdogWhileACallWaits) {
  Ranks ranks(3, GetParam().environment());
  ranks.init();
  ranks.tell({0, 1}, "call", "&all_reduce 2000000");  // rank 2 never comes
  ranks.expect_success({0, 1}, "await_blocked");
  const Clock::time_point aborted = Clock::now();
  expect_prompt_end(ranks[1], "abort");
  const Report blocked = ranks[1].report("call");
  EXPECT_NE(blocked.code, 0);
  EXPECT_LT(blocked.at - aborted, kBound) << blocked.text;
  const Report waiting = ranks[0].report("call");
  EXPECT_EQ(waiting.code, kRemoteError) << waiting.text;
  EXPECT_LT(waiting.at - aborted, kBound) << waiting.text;
  expect_names(waiting, "1");
  const Report late = ranks[2].ask("all_reduce 2000000");
  EXPECT_EQ(late.code, kRemoteError) << late.text;
  EXPECT_LT(late.took, kBound);
  expect_names(late, "1");
  expect_prompt_end(ranks[0], "destroy");
  expect_prompt_end(ranks[2], "abort");
}

TEST_P(Abort, OfTheHubWhileACallWaits) {
  Ranks ranks(3, GetParam().environment());
  ranks.init();
  ranks.tell(ranks.without({2}), "call", "&all_reduce 2000000");
  ranks.expect_success({0, 1}, "await_blocked");
  const Clock::time_point aborted = Clock::now();
  expect_prompt_end(ranks[0], "abort");
  for (const int rank : {0, 1}) {
    const Report report = ranks[rank].report("call");
    EXPECT_NE(report.code, 0);
    EXPECT_LT(report.at - aborted, kBound) << report.text;
    if (rank == 1) {
      EXPECT_EQ(report.code, kRemoteError) << report.text;
    }
    expect_names(report, "0");
  }
}

TEST_P(Abort, DestroyWhileACallWaitsForAPeerThatNeverComes) {
  Ranks ranks(2, GetParam().environment());
  ranks.init();
  ranks[0].tell("call", "&all_reduce 2000000");
  ranks.expect_success({0}, "await_blocked");
  expect_prompt_end(ranks[0], "destroy");
  const Report blocked = ranks[0].report("call");
  EXPECT_NE(blocked.code, 0);
}

TEST_P(Abort, DestroyWhenThePeerNeverDestroys) {
  Ranks ranks(2, GetParam().environment());
  ranks.init();
  ranks.expect_success(ranks.all(), "all_reduce 1000");
  expect_prompt_end(ranks[0], "destroy");
  const Report late = ranks[1].ask("all_reduce 1000");
  EXPECT_EQ(late.code, kRemoteError) << late.text;
  EXPECT_LT(late.took, kBound);
  expect_names(late, "0");
}

// The first bytes may still find room on the way; what follows must not wait for ever.
TEST_P(Abort, SendsToARankThatHasLeftEnd) {
  Ranks ranks(2, GetParam().environment());
  ranks.init();
  ranks.expect_success(ranks.all(), "all_reduce 1000");
  expect_prompt_end(ranks[0], "destroy");
  ranks[0].tell("quit", "quit");
  EXPECT_EQ(ranks[0].wait_exit(), 0);
  Report last;
  for (int i = 0; i < 20 && (last.code == 0 || i == 0); ++i) {
    last = ranks[1].ask("send 0 100000");
    EXPECT_LT(last.took, kBound);
  }
  EXPECT_EQ(last.code, kRemoteError) << last.text;
  expect_names(last, "0");
}

TEST_P(Abort, WhileThePeersAreStopped) {
  Ranks ranks(3, GetParam().environment());
  ranks.init();
  ranks.expect_success(ranks.all(), "all_reduce 1000");
  ranks[0].stop();
  ranks[2].stop();
  ranks[1].tell("call", "&all_reduce 2000000");
  ranks.expect_success({1}, "await_blocked");
  expect_prompt_end(ranks[1], "abort");
  EXPECT_NE(ranks[1].report("call").code, 0);
}

// The last call's data must reach everybody although the fastest ranks destroy at once: 200 rounds,
// of sizes that go at once, in one piece, and in many.
class LastCall : public testing::TestWithParam<std::tuple<Place, int>> {
 protected:
  TestLimit limit_;
};

TEST_P(LastCall, DestroyTakesNothingFromPeers) {
  const auto& [place, count] = GetParam();
  Ranks ranks(4, place.environment());
  ranks.init();
  ranks.expect_success(ranks.all(), "lives 50 " + std::to_string(count), milliseconds(50'000));
  ranks.expect_success(ranks.all(), "destroy");
}

// Even the end of the process must not.
TEST_P(LastCall, ExitTakesNothingFromPeers) {
  const auto& [place, count] = GetParam();
  for (const std::string how : {"exit", "at_once"}) {
    Ranks ranks(3, place.environment());
    ranks.init();
    ranks.tell(ranks.all(), "last", "last_call " + std::to_string(count) + " " + how);
    for (const int rank : ranks.all()) {
      EXPECT_EQ(ranks[rank].wait_exit(), 0) << "rank " << rank << ", " << how;
    }
  }
}

GYRE_EVERYWHERE(Abort);

INSTANTIATE_TEST_SUITE_P(Sizes, LastCall,
                         testing::Combine(testing::Values(Place{"shm", shared_memory},
                                                          Place{"tcp", tcp}),
                                          testing::Values(1, 3000, 70000, 1000000)),
                         [](const auto& sizes) {
                           return std::string(std::get<0>(sizes.param).name) + "_" +
                                  std::to_string(std::get<1>(sizes.param));
                         });

}  // namespace
}  // namespace gyre::test
