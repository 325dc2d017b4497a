// Ranks that are killed: every survivor's call ends within 2 s with an error that names a dead
// rank, whatever it was doing, and so do its abort and its destroy.
#include <gtest/gtest.h>

#include <string>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

class Kill : public testing::TestWithParam<Place> {
 protected:
  Kill() : ranks_(4, GetParam().environment()) { ranks_.init(); }

  // Each survivor's call `tag` failed in time and names one of the victims.
  void expect_loss(const std::string& tag, const std::vector<int>& victims,
                   Clock::time_point killed) {
    std::string names;
    for (const int victim : victims) names += (names.empty() ? "" : "|") + std::to_string(victim);
    for (const int survivor : ranks_.without(victims)) {
      const Report report = ranks_[survivor].report(tag);
      EXPECT_EQ(report.code, kRemoteError) << "rank " << survivor << ": " << report.text;
      EXPECT_LT(report.at - killed, kBound) << "rank " << survivor << ": " << report.text;
      expect_names(report, names);
    }
  }

  // Some survivors abort, some destroy; none of it waits for anybody.
  void expect_prompt_ends(const std::vector<int>& victims) {
    bool abort = true;
    for (const int survivor : ranks_.without(victims)) {
      expect_prompt_end(ranks_[survivor], abort ? "abort" : "destroy");
      abort = !abort;
    }
  }

  void kill_during(const std::string& loop, const std::vector<int>& victims) {
    ranks_.tell(ranks_.all(), "loop", loop);
    for (const int rank : ranks_.all()) {
      const Report entered = ranks_[rank].report("loop.entered");
      ASSERT_EQ(entered.code, 0) << entered.text;
    }
    Clock::time_point killed{};
    for (const int victim : victims) killed = ranks_[victim].kill();
    expect_loss("loop", victims, killed);
    expect_prompt_ends(victims);
  }

  TestLimit limit_;
  Ranks ranks_;
};

const std::string kLargeLoop = "loop 2000000";

TEST_P(Kill, DuringALargeAllReduce) { kill_during(kLargeLoop, {2}); }

TEST_P(Kill, DuringSmallAllReduces) { kill_during("loop 3", {1}); }

TEST_P(Kill, DuringSendAndReceive) { kill_during("messages 1000000", {3}); }

TEST_P(Kill, TheHubDuringALargeAllReduce) { kill_during(kLargeLoop, {0}); }

TEST_P(Kill, TheHubDuringSendAndReceive) { kill_during("messages 100000", {0}); }

TEST_P(Kill, TwoDuringALargeAllReduce) { kill_during(kLargeLoop, {1, 2}); }

TEST_P(Kill, TheHubAndAnother) { kill_during(kLargeLoop, {0, 2}); }

TEST_P(Kill, WhileASurvivorComputes) {
  // Rank 1 is in no call; the others wait for it and for the victim.
  ranks_.tell({0, 2, 3}, "call", "all_reduce 2000000");
  const Clock::time_point killed = ranks_[3].kill();
  for (const int waiting : {0, 2}) {
    const Report report = ranks_[waiting].report("call");
    EXPECT_EQ(report.code, kRemoteError) << report.text;
    EXPECT_LT(report.at - killed, kBound);
    expect_names(report, "3");
  }
  const Report late = ranks_[1].ask("all_reduce 2000000");
  EXPECT_EQ(late.code, kRemoteError) << late.text;
  EXPECT_LT(late.took, kBound);
  expect_names(late, "3");
  expect_prompt_ends({3});
}

TEST_P(Kill, BetweenCalls) {
  ranks_.expect_success(ranks_.all(), "all_reduce 1000");
  ranks_[2].kill();
  for (const int survivor : ranks_.without({2})) {
    const Report report = ranks_[survivor].ask("all_reduce 1000");
    EXPECT_EQ(report.code, kRemoteError) << report.text;
    EXPECT_LT(report.took, kBound);
    expect_names(report, "2");
  }
  expect_prompt_ends({2});
}

GYRE_EVERYWHERE(Kill);

}  // namespace
}  // namespace gyre::test
