// Ranks that are stopped: without a deadline the others wait and lose nothing; with one they say
// who it is, and leave without waiting for it.
#include <gtest/gtest.h>

#include <string>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

// The deadline, and what finding out who is late may take.
constexpr milliseconds kTimeout{1000};
constexpr milliseconds kVerdict{4000};
// For how long nothing must happen.
constexpr milliseconds kQuiet{400};

class Stop : public testing::TestWithParam<Place> {
 protected:
  void wait_and_resume(int victim) {
    Ranks ranks(3, GetParam().environment());
    ranks.init();
    ranks[victim].stop();
    ranks.tell(ranks.all(), "call", "all_reduce 2000000");
    for (const int rank : ranks.without({victim})) {
      const Report early = ranks[rank].report("call", kQuiet);
      EXPECT_EQ(early.code, -1) << "rank " << rank << " did not wait: " << early.text;
    }
    ranks[victim].resume();
    for (const int rank : ranks.all()) {
      const Report report = ranks[rank].report("call");
      EXPECT_EQ(report.code, 0) << "rank " << rank << ": " << report.text;
    }
    ranks.expect_success(ranks.all(), "all_reduce 17");
    ranks.expect_success(ranks.all(), "destroy");
  }

  void name_the_stopped(int victim) {
    Ranks ranks(3, GetParam().environment() + Environment{{"GYRE_TIMEOUT", "1"}});
    ranks.init();
    ranks[victim].stop();
    const std::vector<int> survivors = ranks.without({victim});
    const std::vector<Report> reports = ranks.ask(survivors, "all_reduce 2000000");
    for (const Report& report : reports) {
      EXPECT_EQ(report.code, kRemoteError) << report.text;
      EXPECT_GE(report.took, kTimeout / 2) << report.text;
      EXPECT_LT(report.took, kVerdict) << report.text;
      expect_names(report, std::to_string(victim));
    }
    expect_prompt_end(ranks[survivors[0]], "abort");
    expect_prompt_end(ranks[survivors[1]], "destroy");
  }

  TestLimit limit_;
};

TEST_P(Stop, OthersWaitForAStoppedRank) { wait_and_resume(1); }

TEST_P(Stop, OthersWaitForAStoppedHub) { wait_and_resume(0); }

TEST_P(Stop, InTheMiddleOfAnAllReduce) {
  Ranks ranks(3, GetParam().environment());
  ranks.init();
  ranks.tell(ranks.all(), "calls", "repeat 40 all_reduce 500000");
  for (int i = 0; i < 5; ++i) {
    ranks[2].stop();
    (void)ranks[0].report("nothing", milliseconds(20));
    ranks[2].resume();
  }
  for (const int rank : ranks.all()) {
    const Report report = ranks[rank].report("calls");
    EXPECT_EQ(report.code, 0) << "rank " << rank << ": " << report.text;
  }
  ranks.expect_success(ranks.all(), "destroy");
}

TEST_P(Stop, ADeadlineNamesAStoppedRank) { name_the_stopped(2); }

TEST_P(Stop, ADeadlineNamesAStoppedHub) { name_the_stopped(0); }

TEST_P(Stop, ADeadlineNamesARankThatComputes) {
  Ranks ranks(3, GetParam().environment() + Environment{{"GYRE_TIMEOUT", "1"}});
  ranks.init();
  for (const Report& report : ranks.ask({0, 2}, "all_reduce 2000000")) {
    EXPECT_EQ(report.code, kRemoteError) << report.text;
    EXPECT_LT(report.took, kVerdict) << report.text;
    expect_names(report, "1");
  }
  for (const int rank : ranks.all()) expect_prompt_end(ranks[rank], "abort");
}

GYRE_EVERYWHERE(Stop);

}  // namespace
}  // namespace gyre::test
