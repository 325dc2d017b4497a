#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/time.h>

#include <atomic>
#include <string>
#include <vector>

#include "bootstrap/dial.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/messages.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/socket_util.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::bytes_of;
using test::run_ranks;
using test::seconds_since;

using Facts = Result<std::vector<std::vector<std::byte>>>;

UniqueId new_id() {
  auto id = create_unique_id();
  EXPECT_TRUE(id) << id.error().text;
  return *id;
}

Facts meet(const UniqueId& id, int rank, int world, Deadline deadline,
           const AbortState* abort = nullptr) {
  return rendezvous(id, rank, world, bytes_of(fmt::format("facts of {}", rank)), deadline, abort);
}

void expect_everyone_meets(const UniqueId& id, int world) {
  run_ranks(world, [&](int rank) {
    const auto all = meet(id, rank, world, Deadline::after(milliseconds(20'000)));
    ASSERT_TRUE(all) << all.error().text;
    ASSERT_EQ(all->size(), static_cast<std::size_t>(world));
    for (int other = 0; other < world; ++other) {
      EXPECT_EQ(test::text_of((*all)[static_cast<std::size_t>(other)]),
                fmt::format("facts of {}", other));
    }
  });
}

TEST(Rendezvous, AllFactsReachAllRanks) {
  for (const int world : {1, 2, 3, 8}) expect_everyone_meets(new_id(), world);
}

TEST(Rendezvous, SixtyFourRanksInLessThanASecond) {
  const UniqueId id = new_id();
  const auto start = Clock::now();
  expect_everyone_meets(id, 64);
  EXPECT_LT(seconds_since(start), test::allowed(1.0));
}

TEST(Rendezvous, LargestFacts) {
  const UniqueId id = new_id();
  run_ranks(4, [&](int rank) {
    const std::vector<std::byte> facts(kMaxFactsBytes, static_cast<std::byte>(rank));
    const auto all = rendezvous(id, rank, 4, facts, Deadline::after(milliseconds(20'000)), nullptr);
    ASSERT_TRUE(all) << all.error().text;
    EXPECT_EQ((*all)[3].size(), kMaxFactsBytes);
    EXPECT_EQ((*all)[3].back(), std::byte{3});
  });
}

TEST(Rendezvous, TooLargeFactsAreRefusedLocally) {
  const std::vector<std::byte> facts(kMaxFactsBytes + 1);
  const auto all = rendezvous(new_id(), 0, 1, facts, Deadline::after(milliseconds(100)), nullptr);
  ASSERT_FALSE(all);
  EXPECT_EQ(all.status(), Status::invalid_usage);
}

TEST(Rendezvous, MissingRanksAreNamedOnEveryRankThatCame) {
  const UniqueId id = new_id();
  const auto start = Clock::now();
  run_ranks(3, [&](int rank) {
    const auto all = meet(id, rank, 6, Deadline::after(milliseconds(300)));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::timeout);
    EXPECT_NE(all.error().text.find("ranks 3-5 of 6"), std::string::npos) << all.error().text;
  });
  EXPECT_GE(seconds_since(start), 0.29);
  EXPECT_LT(seconds_since(start), test::allowed(2.0));
  // A rank that comes too late hears the same; a new id works.
  const auto late = meet(id, 5, 6, Deadline::after(milliseconds(5'000)));
  ASSERT_FALSE(late);
  EXPECT_NE(late.error().text.find("ranks 3-5 of 6"), std::string::npos) << late.error().text;
  expect_everyone_meets(new_id(), 6);
}

TEST(Rendezvous, AFailedRanksReasonReachesAll) {
  const UniqueId id = new_id();
  const auto start = Clock::now();
  run_ranks(4, [&](int rank) {
    const Deadline deadline = Deadline::after(milliseconds(20'000));
    if (rank == 3) {
      EXPECT_TRUE(report_failure(id, 3, 4, {Status::system, "out of memory for lanes"}, deadline));
      return;
    }
    const auto all = meet(id, rank, 4, deadline);
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::system);
    EXPECT_NE(all.error().text.find("rank 3"), std::string::npos) << all.error().text;
    EXPECT_NE(all.error().text.find("out of memory for lanes"), std::string::npos);
  });
  EXPECT_LT(seconds_since(start), test::allowed(3.0));
  expect_everyone_meets(new_id(), 4);
}

// What a rank looks like that joins and then dies, or aborts.
void join_and_go(const UniqueId& id, std::uint32_t rank, const JoinMessage& message) {
  const auto contents = decode(id);
  ASSERT_TRUE(contents);
  const auto fd = dial(reachable(contents->root), contents->key, {Purpose::rendezvous, rank, 0, 0},
                       Deadline::after(milliseconds(5'000)), nullptr, true);
  ASSERT_TRUE(fd) << fd.error().text;
  const auto frame = encode(FrameType::join, 0, encode(message));
  EXPECT_EQ(send_some(*fd, *frame).bytes, frame->size());
}

TEST(Rendezvous, ARankThatDiesEndsTheOthersToo) {
  const UniqueId id = new_id();
  const auto start = Clock::now();
  run_ranks(3, [&](int rank) {
    if (rank == 2) return join_and_go(id, 2, {kBootstrapVersion, 2, 3, "host h, pid 12"});
    const auto all = meet(id, rank, 3, Deadline::after(milliseconds(20'000)));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::peer_lost);
    EXPECT_NE(all.error().text.find("rank 2 (host h, pid 12)"), std::string::npos)
        << all.error().text;
  });
  EXPECT_LT(seconds_since(start), test::allowed(2.0));
}

TEST(Rendezvous, AnAbortEndsTheWaitAtOnce) {
  const UniqueId id = new_id();
  AbortState abort;
  std::thread raiser([&] { abort.raise({Status::aborted, "enough"}); });
  const auto start = Clock::now();
  EXPECT_EQ(meet(id, 0, 3, Deadline::never(), &abort).status(), Status::aborted);
  raiser.join();
  EXPECT_LT(seconds_since(start), test::allowed(1.0));
}

TEST(Rendezvous, TwoProcessesOfOneRankAreNamed) {
  const UniqueId id = new_id();
  std::atomic<int> quoted{0};
  run_ranks(3, [&](int thread) {
    const auto all = meet(id, thread == 2 ? 1 : thread, 4, Deadline::after(milliseconds(20'000)));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::invalid_usage);
    if (all.error().text.find("two processes claim to be rank 1") != std::string::npos) ++quoted;
  });
  EXPECT_EQ(quoted.load(), 3);
}

TEST(Rendezvous, DifferentWorldsAreNamed) {
  const UniqueId id = new_id();
  run_ranks(2, [&](int rank) {
    const auto all = meet(id, rank, rank == 0 ? 4 : 5, Deadline::after(milliseconds(20'000)));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::invalid_usage);
    // Whichever came first, the text has both worlds and both ranks.
    for (const char* part : {"rank 0", "rank 1", " 4", " 5"}) {
      EXPECT_NE(all.error().text.find(part), std::string::npos) << part << ": " << all.error().text;
    }
  });
}

TEST(Rendezvous, AnotherVersionIsNamed) {
  const UniqueId id = new_id();
  std::thread other([&] {
    const auto all = meet(id, 0, 2, Deadline::after(milliseconds(20'000)));
    ASSERT_FALSE(all);
    EXPECT_NE(all.error().text.find("version 999"), std::string::npos) << all.error().text;
  });
  join_and_go(id, 1, {999, 1, 2, "an older build"});
  other.join();
}

TEST(Rendezvous, DamagedIdsAreRefused) {
  for (const std::size_t at : {std::size_t{0}, std::size_t{9}, std::size_t{40}, std::size_t{127}}) {
    UniqueId id = new_id();
    id.bytes[at] ^= std::byte{1};
    const auto all = meet(id, 0, 2, Deadline::after(milliseconds(1'000)));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::invalid_argument);
  }
  EXPECT_EQ(meet(UniqueId{}, 0, 2, Deadline::after(milliseconds(1'000))).status(),
            Status::invalid_argument);
}

TEST(Rendezvous, AnUnknownRootEndsAtTheDeadline) {
  auto contents = decode(new_id());
  ASSERT_TRUE(contents);
  contents->key = random_job_key();
  const auto start = Clock::now();
  const auto all = meet(encode(*contents), 1, 2, Deadline::after(milliseconds(200)));
  ASSERT_FALSE(all);
  EXPECT_EQ(all.status(), Status::timeout);
  EXPECT_NE(all.error().text.find("127.0.0.1"), std::string::npos) << all.error().text;
  EXPECT_LT(seconds_since(start), test::allowed(1.0));
}

// A signal every millisecond, its handler without SA_RESTART: every call sees EINTR.
TEST(Rendezvous, SurvivesAStormOfSignals) {
  struct sigaction quiet {};
  struct sigaction before {};
  quiet.sa_handler = [](int) {};
  ASSERT_EQ(::sigaction(SIGALRM, &quiet, &before), 0);
  const itimerval storm{{0, 1000}, {0, 1000}};
  ASSERT_EQ(::setitimer(ITIMER_REAL, &storm, nullptr), 0);
  for (int round = 0; round < 20; ++round) expect_everyone_meets(new_id(), 4);
  const itimerval calm{};
  ::setitimer(ITIMER_REAL, &calm, nullptr);
  ::sigaction(SIGALRM, &before, nullptr);
}

TEST(Rendezvous, ManyAtOnceDoNotDisturbEachOther) {
  run_ranks(8, [](int) { expect_everyone_meets(new_id(), 3); });
}

TEST(Rendezvous, NothingIsLeftBehind) {
  expect_everyone_meets(new_id(), 4);
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 50) {
      descriptors = test::open_descriptors();
      threads = test::running_threads();
    }
    expect_everyone_meets(new_id(), 4);
  }
  EXPECT_TRUE(test::eventually([&] { return test::open_descriptors() <= descriptors; }))
      << test::open_descriptors() << " descriptors after, " << descriptors << " before";
  EXPECT_TRUE(test::eventually([&] { return test::running_threads() <= threads; }));
}

}  // namespace
}  // namespace gyre
