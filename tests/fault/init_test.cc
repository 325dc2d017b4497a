// Init that does not come about, or only after trouble: every rank gets a reason in time, and
// trying again works. Non-blocking init returns at once and can be given up at any moment.
#include <gtest/gtest.h>

#include <algorithm>
#include <regex>
#include <string>
#include <vector>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

const Environment kShortInit = {{"GYRE_INIT_TIMEOUT", "2"}};
// The deadline, and what the verdict may take on the way.
constexpr milliseconds kInitBound{5000};
// A rank that fails by itself takes the others with it faster than any deadline.
constexpr milliseconds kLocalFailure{3000};
// What a call that does not block may take.
constexpr milliseconds kAtOnce{50};

// What the kernel answers, and what the C++ library does: ENOMEM, EAGAIN of a thread, bad_alloc.
bool names_lack_of_memory(const std::string& text) {
  static const std::regex lack("memory|temporarily unavailable");
  return std::regex_search(text, lack);
}

class Init : public testing::TestWithParam<Place> {
 protected:
  Environment environment() const { return GetParam().environment(); }
  TestLimit limit_;
};

TEST_P(Init, AMissingRankIsNamedAtTheDeadline) {
  Ranks ranks(4, environment() + kShortInit);
  const std::string first = ranks.make_id();
  for (const Report& report : ranks.ask({0, 1, 2}, "init " + first)) {
    EXPECT_NE(report.code, 0);
    EXPECT_LT(report.took, kInitBound) << report.text;
    expect_names(report, "3");
  }
  ranks.init();  // a new id: the same processes, and the late one
  ranks.expect_success(ranks.all(), "all_reduce 5000");
}

TEST_P(Init, AMissingRankZeroIsNamed) {
  Ranks ranks(3, environment() + kShortInit);
  const std::string first = ranks.make_id();
  for (const Report& report : ranks.ask({1, 2}, "init " + first)) {
    EXPECT_NE(report.code, 0);
    EXPECT_LT(report.took, kInitBound) << report.text;
    expect_names(report, "0");
  }
  ranks.init();
}

TEST_P(Init, AHookOfOneRankIsNoDisagreement) {
  std::vector<Environment> environments(3, environment());
  environments[1] = environments[1] + Environment{{"GYRE_HOOK", "trace:/dev/null"}};
  Ranks ranks(environments);
  ranks.init();
  ranks.expect_success(ranks.all(), "all_reduce 50000");
}

TEST_P(Init, TheReasonOfOneRankReachesAll) {
  std::vector<Environment> environments(4, environment());
  environments[3] = environments[3] + Environment{{"GYRE_SLOTS", "abc"}};
  Ranks ranks(environments);
  for (const Report& report : ranks.ask(ranks.all(), "init " + ranks.make_id())) {
    EXPECT_NE(report.code, 0);
    EXPECT_LT(report.took, kLocalFailure) << report.text;
    EXPECT_NE(report.text.find("GYRE_SLOTS"), std::string::npos) << report.text;
  }
}

// Rank 3 runs out of memory in `command`, at one point of it after the other: at the first thread,
// at the lanes, somewhere between. Each time every rank gets its reason, and with enough memory the
// same processes come together.
void expect_told(Ranks& ranks, int kib, const std::string& command, int* failures) {
  ranks.expect_success({3}, "limit_memory " + std::to_string(kib));
  const std::vector<Report> reports = ranks.ask(ranks.all(), command);
  ranks.expect_success({3}, "limit_memory -1");
  const bool failed = reports[3].code != 0;
  for (const int rank : ranks.all()) {
    const Report& report = reports[static_cast<std::size_t>(rank)];
    SCOPED_TRACE(std::to_string(kib) + " KiB, rank " + std::to_string(rank) + ": " + report.text);
    EXPECT_EQ(report.code != 0, failed);
    EXPECT_LT(report.took, kLocalFailure);
    EXPECT_EQ(names_lack_of_memory(report.text), failed);
    if (failed && rank != 3) expect_names(report, "3");
  }
  if (!failed) ranks.expect_success(ranks.all(), "destroy");
  *failures += failed ? 1 : 0;
}

constexpr int kScarce[] = {0, 16, 64, 512, 2048, 6144, 8196, 8200, 8300, 9216, 12288, 20480};

void fail_where_memory_ends(const Environment& environment, bool used_before) {
  Ranks ranks(4, environment);
  if (used_before) {
    ranks.init();
    ranks.expect_success(ranks.all(), "destroy");
  }
  int failures = 0;
  for (const int kib : kScarce) {
    expect_told(ranks, kib, "init " + ranks.make_id(), &failures);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failures, 0) << "no limit was too low";
  ranks.init();
  ranks.expect_success(ranks.all(), "all_reduce 100000");
}

// Sanitizers reserve terabytes of address space: a limit to it says nothing about memory there.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kMemoryHasLimits = false;
#else
constexpr bool kMemoryHasLimits = true;
#endif
constexpr const char* kNoLimits = "no limit of address space under a sanitizer";

TEST_P(Init, ARankOutOfMemoryTellsAll) {
  if (!kMemoryHasLimits) GTEST_SKIP() << kNoLimits;
  fail_where_memory_ends(environment(), false);
}

TEST_P(Init, ARankOutOfMemoryTellsAllLater) {
  if (!kMemoryHasLimits) GTEST_SKIP() << kNoLimits;
  fail_where_memory_ends(environment(), true);
}

TEST_P(Init, ARankOutOfMemoryInASplitTellsAll) {
  if (!kMemoryHasLimits) GTEST_SKIP() << kNoLimits;
  Ranks ranks(4, environment());
  ranks.init();
  int failures = 0;
  for (const int kib : {0, 4, 16, 64, 2048, 6144, 20480}) {
    expect_told(ranks, kib, "split 0", &failures);
    if (testing::Test::HasFailure()) return;
  }
  EXPECT_GT(failures, 0) << "no limit was too low";
  // The parent is none the worse.
  ranks.expect_success(ranks.all(), "all_reduce 1000");
  ranks.expect_success(ranks.all(), "split 0");
  ranks.expect_success(ranks.all(), "all_reduce 100000");
}

// Rank 2 came and rank 3 did not yet; then rank 2 dies.
TEST_P(Init, ARankThatDiesDuringInitIsNamedAtOnce) {
  Ranks ranks(4, environment());
  const std::string id = ranks.make_id();
  for (const int rank : {0, 1, 2}) {
    EXPECT_EQ(ranks[rank].ask("init " + id + " nonblocking").code, kInProgress);
  }
  // What they said has reached rank 0's process.
  ranks.expect_success({0, 1, 2}, "await_joined");
  const Clock::time_point killed = ranks[2].kill();
  for (const int rank : {0, 1}) {
    const Report report = ranks[rank].ask("settle");
    EXPECT_EQ(report.code, kRemoteError) << report.text;
    EXPECT_LT(report.at - killed, kBound) << report.text;
    expect_names(ranks[rank].ask("all_reduce 1"), "2");
  }
}

TEST_P(Init, ASignalStormDoesNoHarm) {
  Ranks ranks(4, environment());
  ranks.expect_success(ranks.all(), "storm 1000");
  for (int i = 0; i < 3; ++i) {
    ranks.init();
    ranks.expect_success(ranks.all(), "all_reduce 100000");
    ranks.expect_success(ranks.all(), "destroy");
  }
}

TEST_P(Init, NonBlockingReturnsAtOnceAndCanBeAbortedAtAnyMoment) {
  Ranks ranks(2, environment());
  milliseconds fastest = kHang;
  for (int polls = 0; polls < 8; ++polls) {
    const Report begun = ranks[0].ask("init " + ranks.make_id() + " nonblocking");
    EXPECT_EQ(begun.code, kInProgress) << begun.text;
    fastest = std::min(fastest, begun.took);
    for (int i = 0; i < polls * polls; ++i) {
      EXPECT_EQ(ranks[0].ask("async_error").code, kInProgress);
    }
    expect_prompt_end(ranks[0], polls % 2 == 0 ? "abort" : "destroy");
  }
  EXPECT_LT(fastest, kAtOnce);
}

TEST_P(Init, CallsThatComeTooEarlyAreRefusedWithoutHarm) {
  Ranks ranks(2, environment());
  const std::string id = ranks.make_id();
  EXPECT_EQ(ranks[0].ask("init " + id + " nonblocking").code, kInProgress);
  for (const std::string call : {"all_reduce 100", "split 0", "finalize"}) {
    const Report early = ranks[0].ask(call);
    EXPECT_EQ(early.code, kInvalidArgument) << call << ": " << early.text;
    EXPECT_FALSE(early.text.empty());
  }
  EXPECT_EQ(ranks[1].ask("init " + id + " nonblocking").code, kInProgress);
  ranks.expect_success(ranks.all(), "settle");
  ranks.expect_success(ranks.all(), "all_reduce 100");
}

TEST_P(Init, NonBlockingFromInitToDestroy) {
  Ranks ranks(4, environment());
  for (const Report& report : ranks.ask(ranks.all(), "init " + ranks.make_id() + " nonblocking")) {
    EXPECT_EQ(report.code, kInProgress) << report.text;
  }
  for (const std::string step :
       {"settle", "all_reduce 100000", "split 7", "all_reduce 70000", "finalize", "settle",
        "destroy", "all_reduce 3", "finalize", "settle", "destroy"}) {
    ranks.expect_success(ranks.all(), step);
  }
}

TEST_P(Init, NonBlockingTellsOfAMissingRank) {
  Ranks ranks(3, environment() + kShortInit);
  const std::string id = ranks.make_id();
  for (const int rank : {0, 1}) {
    EXPECT_EQ(ranks[rank].ask("init " + id + " nonblocking").code, kInProgress);
  }
  for (const Report& report : ranks.ask({0, 1}, "settle")) {
    EXPECT_NE(report.code, 0);
    EXPECT_NE(report.code, kInProgress);
    EXPECT_LT(report.took, kInitBound);
  }
  expect_prompt_end(ranks[0], "abort");
  expect_prompt_end(ranks[1], "destroy");
}

GYRE_EVERYWHERE(Init);

}  // namespace
}  // namespace gyre::test
