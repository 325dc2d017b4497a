// Between the rendezvous and the control star: who dies there is named at once, not at a deadline.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>

#include "bootstrap/rendezvous.hpp"
#include "bootstrap/world.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::run_ranks;
using test::seconds_since;

constexpr int kWorld = 4;

struct Wait {
  bool raised = false;
  Error reason;
  double seconds = 0;
};

// Until the abort is raised, at most `limit`.
Wait wait_for(const AbortState& abort, milliseconds limit) {
  const auto start = Clock::now();
  const Deadline deadline = Deadline::after(limit);
  while (!abort.raised() && !deadline.expired()) std::this_thread::sleep_for(milliseconds(1));
  Wait wait{abort.raised(), {}, seconds_since(start)};
  if (wait.raised) wait.reason = abort.reason();
  return wait;
}

Meeting meet_all(const UniqueId& id, int rank, AbortState& abort) {
  auto meeting =
      meet(id, rank, kWorld, test::bytes_of("x"), Deadline::after(milliseconds(20'000)), &abort);
  EXPECT_TRUE(meeting) << meeting.error().text;
  meeting->attendance->watch(abort);
  return *std::move(meeting);
}

TEST(Attendance, ARankThatDiesAfterTheMeetingIsNamedAtOnce) {
  const auto id = create_unique_id();
  ASSERT_TRUE(id);
  run_ranks(kWorld, [&](int rank) {
    AbortState abort;
    Meeting meeting = meet_all(*id, rank, abort);
    if (rank == 2) return;  // without a goodbye, as a killed process
    const Wait wait = wait_for(abort, milliseconds(10'000));
    ASSERT_TRUE(wait.raised) << "rank " << rank;
    EXPECT_EQ(wait.reason.status, Status::peer_lost);
    EXPECT_NE(wait.reason.text.find("rank 2 ("), std::string::npos) << wait.reason.text;
    EXPECT_LT(wait.seconds, test::allowed(1.0));
  });
}

TEST(Attendance, ARankThatGivesUpTellsWhy) {
  const auto id = create_unique_id();
  ASSERT_TRUE(id);
  run_ranks(kWorld, [&](int rank) {
    AbortState abort;
    Meeting meeting = meet_all(*id, rank, abort);
    if (rank == 0) {
      meeting.attendance->give_up({Status::system, "no memory for lanes"});
      return;
    }
    const Wait wait = wait_for(abort, milliseconds(10'000));
    ASSERT_TRUE(wait.raised) << "rank " << rank;
    EXPECT_NE(wait.reason.text.find("rank 0"), std::string::npos) << wait.reason.text;
    EXPECT_NE(wait.reason.text.find("no memory for lanes"), std::string::npos) << wait.reason.text;
  });
}

TEST(Attendance, GoodbyesDisturbNobody) {
  const auto id = create_unique_id();
  ASSERT_TRUE(id);
  std::atomic<int> gone{0};
  run_ranks(kWorld, [&](int rank) {
    AbortState abort;
    Meeting meeting = meet_all(*id, rank, abort);
    if (rank < 2) {
      meeting.attendance->goodbye();
      meeting.attendance.reset();
      ++gone;
      return;
    }
    EXPECT_TRUE(test::eventually([&] { return gone == 2; }));
    if (rank == 2) {
      meeting.attendance->give_up({Status::system, "said after the goodbyes"});
      return;
    }
    // What comes after the goodbyes is the first that rank 3 hears.
    const Wait wait = wait_for(abort, milliseconds(10'000));
    ASSERT_TRUE(wait.raised);
    EXPECT_NE(wait.reason.text.find("said after the goodbyes"), std::string::npos)
        << wait.reason.text;
  });
}

}  // namespace
}  // namespace gyre
