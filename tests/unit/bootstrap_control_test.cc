#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/control.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/interfaces.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::bytes_of;
using test::eventually;
using test::Recorder;
using test::run_ranks;
using test::seconds_since;

Deadline soon() { return Deadline::after(milliseconds(20'000)); }

// The ranks of one communicator as threads of this process.
class Star {
 public:
  explicit Star(int world) : world_(world), recorders_(static_cast<std::size_t>(world)) {
    const auto endpoint = local_endpoint();
    EXPECT_TRUE(endpoint) << endpoint.error().text;
    controls_.resize(recorders_.size());
    const JobKey key = random_job_key();
    run_ranks(world, [&](int rank) {
      auto control =
          Control::open(key, rank, world, reachable(*endpoint), &recorder(rank), soon(), nullptr);
      ASSERT_TRUE(control) << control.error().text;
      controls_[static_cast<std::size_t>(rank)] = *std::move(control);
    });
  }
  ~Star() {
    for (auto& control : controls_) {
      if (control) control->goodbye();
    }
  }

  Control& operator[](int rank) { return *controls_[static_cast<std::size_t>(rank)]; }
  Recorder& recorder(int rank) { return recorders_[static_cast<std::size_t>(rank)]; }
  void kill(int rank) { controls_[static_cast<std::size_t>(rank)].reset(); }

  auto gather(int rank, std::string_view what, Deadline deadline = soon(),
              const AbortState* abort = nullptr) {
    return (*this)[rank].all_gather(bytes_of(fmt::format("{} of {}", what, rank)), what, deadline,
                                    abort);
  }
  void expect_gather(std::string_view what) {
    run_ranks(world_, [&](int rank) {
      const auto all = gather(rank, what);
      ASSERT_TRUE(all) << all.error().text;
      ASSERT_EQ(all->size(), static_cast<std::size_t>(world_));
      for (int other = 0; other < world_; ++other) {
        EXPECT_EQ(test::text_of((*all)[static_cast<std::size_t>(other)]),
                  fmt::format("{} of {}", what, other));
      }
    });
  }

 private:
  int world_;
  std::vector<Recorder> recorders_;
  std::vector<std::unique_ptr<Control>> controls_;
};

TEST(Control, GathersInOrder) {
  for (const int world : {1, 2, 5}) {
    Star star(world);
    for (int round = 0; round < 20; ++round) star.expect_gather(fmt::format("round {}", round));
  }
}

TEST(Control, GathersPartsOfAnySize) {
  Star star(3);
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, Control::kMaxGatherBytes}) {
    run_ranks(3, [&](int rank) {
      const std::vector<std::byte> mine(rank == 1 ? size : 7, static_cast<std::byte>(rank));
      const auto all = star[rank].all_gather(mine, "sizes", soon(), nullptr);
      ASSERT_TRUE(all) << all.error().text;
      EXPECT_EQ((*all)[0], std::vector<std::byte>(7, std::byte{0}));
      EXPECT_EQ((*all)[1], std::vector<std::byte>(size, std::byte{1}));
    });
  }
  const std::vector<std::byte> too_large(Control::kMaxGatherBytes + 1);
  EXPECT_EQ(star[0].all_gather(too_large, "sizes", soon(), nullptr).status(),
            Status::invalid_usage);
}

TEST(Control, TheDeadlineNamesTheMissingAndWhat) {
  Star star(4);
  run_ranks(2, [&](int rank) {
    const auto all = star.gather(rank, "plan hashes", Deadline::after(milliseconds(200)));
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::timeout);
    EXPECT_NE(all.error().text.find("plan hashes: ranks 2, 3 of 4"), std::string::npos)
        << all.error().text;
  });
  // Late ranks hear the same, and all are in step again.
  for (const int rank : {2, 3}) {
    const auto all = star.gather(rank, "plan hashes");
    ASSERT_FALSE(all);
    EXPECT_NE(all.error().text.find("ranks 2, 3 of 4"), std::string::npos) << all.error().text;
  }
  star.expect_gather("again");
}

TEST(Control, DifferentPurposesAreNamed) {
  Star star(2);
  run_ranks(2, [&](int rank) {
    const auto all = star.gather(rank, rank == 0 ? "split" : "barrier");
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::invalid_usage);
    for (const char* part : {"split", "barrier", "rank 0", "rank 1"}) {
      EXPECT_NE(all.error().text.find(part), std::string::npos) << all.error().text;
    }
  });
}

TEST(Control, AnAnnouncementReachesEveryOtherRank) {
  Star star(4);
  run_ranks(4, [&](int rank) {
    if (rank == 2) {
      star[2].announce({Status::system, "no memory for lanes"});
      return;
    }
    const auto all = star.gather(rank, "lanes");
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::system);
    EXPECT_NE(all.error().text.find("rank 2"), std::string::npos) << all.error().text;
    EXPECT_NE(all.error().text.find("no memory for lanes"), std::string::npos);
    EXPECT_TRUE(eventually([&] { return star.recorder(rank).announcements().size() == 1; }));
    EXPECT_EQ(star.recorder(rank).announcements().front().first, 2);
  });
  EXPECT_TRUE(star.recorder(2).announcements().empty());
}

TEST(Control, ALostRankIsReportedEverywhereWithinASecond) {
  for (const int victim : {1, 3, 0}) {
    Star star(4);
    star.expect_gather("before");
    const auto start = Clock::now();
    star.kill(victim);
    for (int rank = 0; rank < 4; ++rank) {
      if (rank == victim) continue;
      EXPECT_TRUE(eventually([&] { return !star.recorder(rank).losses().empty(); }));
      EXPECT_EQ(star.recorder(rank).losses().front().first, victim);
      EXPECT_FALSE(star.recorder(rank).losses().front().second.empty());
      const auto all = star.gather(rank, "after");
      ASSERT_FALSE(all);
      EXPECT_EQ(all.status(), Status::peer_lost);
      EXPECT_NE(all.error().text.find(fmt::format("rank {}", victim)), std::string::npos)
          << all.error().text;
    }
    EXPECT_LT(seconds_since(start), test::allowed(1.0));
  }
}

TEST(Control, ALossEndsAGatherThatIsUnderWay) {
  Star star(3);
  std::thread victim([&] { star.kill(2); });
  run_ranks(2, [&](int rank) {
    const auto all = star.gather(rank, "waiting");
    ASSERT_FALSE(all);
    EXPECT_EQ(all.status(), Status::peer_lost);
  });
  victim.join();
}

TEST(Control, AGoodbyeIsNoLoss) {
  Star star(4);
  star.expect_gather("before");
  for (const int leaver : {3, 0}) {
    star[leaver].goodbye();
    star.kill(leaver);
    for (const int rank : {1, 2}) {
      const std::size_t expected = leaver == 3 ? 1 : 2;
      EXPECT_TRUE(eventually([&] { return star.recorder(rank).leavers().size() == expected; }));
      EXPECT_EQ(star.recorder(rank).leavers().back(), leaver);
    }
  }
  const auto all = star.gather(1, "after");
  ASSERT_FALSE(all);
  EXPECT_EQ(all.status(), Status::peer_lost);
  for (const int rank : {1, 2}) EXPECT_TRUE(star.recorder(rank).losses().empty());
}

TEST(Control, AnAbortEndsTheWaitAtOnce) {
  Star star(2);
  AbortState abort;
  std::thread raiser([&] { abort.raise({Status::aborted, "enough"}); });
  const auto start = Clock::now();
  const auto all = star.gather(0, "never", Deadline::never(), &abort);
  raiser.join();
  ASSERT_FALSE(all);
  EXPECT_EQ(all.status(), Status::aborted);
  EXPECT_LT(seconds_since(start), test::allowed(1.0));
}

TEST(Control, AsksEveryRankForItsProgress) {
  Star star(4);
  for (int rank = 0; rank < 4; ++rank) {
    star.recorder(rank).counts = {static_cast<std::uint64_t>(rank) + 10,
                                  static_cast<std::uint64_t>(rank)};
  }
  star.expect_gather("counts are set");
  for (const int asker : {0, 3}) {
    const auto start = Clock::now();
    const auto progress = star[asker].ask_progress(milliseconds(10'000), nullptr);
    ASSERT_TRUE(progress) << progress.error().text;
    ASSERT_EQ(progress->size(), 4U);
    for (int rank = 0; rank < 4; ++rank) {
      const auto& one = (*progress)[static_cast<std::size_t>(rank)];
      EXPECT_EQ(one.rank, rank);
      EXPECT_TRUE(one.answered);
      EXPECT_EQ(one.entered, static_cast<std::uint64_t>(rank) + 10);
      EXPECT_EQ(one.finished, static_cast<std::uint64_t>(rank));
    }
    // All answered, so nobody waited for the patience to run out.
    EXPECT_LT(seconds_since(start), test::allowed(5.0));
  }
  star.kill(2);
  ASSERT_TRUE(eventually([&] { return !star.recorder(0).losses().empty(); }));
  const auto progress = star[0].ask_progress(milliseconds(5'000), nullptr);
  ASSERT_TRUE(progress);
  EXPECT_TRUE((*progress)[1].answered);
  EXPECT_FALSE((*progress)[2].answered);
}

TEST(Control, SeveralAskAtOnce) {
  Star star(4);
  run_ranks(4, [&](int rank) {
    for (int i = 0; i < 50; ++i) {
      const auto progress = star[rank].ask_progress(milliseconds(10'000), nullptr);
      ASSERT_TRUE(progress) << progress.error().text;
      for (const auto& one : *progress) EXPECT_TRUE(one.answered);
    }
  });
}

TEST(Control, NoEventAfterDestruction) {
  for (int round = 0; round < 50; ++round) {
    auto star = std::make_unique<Star>(3);
    std::thread other([&] { star->kill(1); });
    star->kill(0);
    // The recorders go with the star; a late event would touch freed memory (ASan, TSan).
    other.join();
  }
}

TEST(Control, RefusesImpossibleRanks) {
  Recorder recorder;
  for (const auto& [rank, world] : {std::pair{-1, 2}, {2, 2}, {0, 0}}) {
    EXPECT_EQ(Control::open(random_job_key(), rank, world, {}, &recorder, soon(), nullptr).status(),
              Status::invalid_argument);
  }
}

TEST(Control, OpenEndsAtTheDeadlineWithoutAHub) {
  Recorder recorder;
  const auto endpoint = local_endpoint();
  ASSERT_TRUE(endpoint);
  const auto control = Control::open(random_job_key(), 1, 2, reachable(*endpoint), &recorder,
                                     Deadline::after(milliseconds(100)), nullptr);
  ASSERT_FALSE(control);
  EXPECT_EQ(control.status(), Status::timeout);
  EXPECT_NE(control.error().text.find("rank 0"), std::string::npos) << control.error().text;
}

TEST(Control, NothingIsLeftBehind) {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  for (int round = 0; round < 200; ++round) {
    if (round == 50) {
      descriptors = test::open_descriptors();
      threads = test::running_threads();
    }
    Star star(4);
    star.expect_gather("round");
  }
  EXPECT_TRUE(eventually([&] { return test::open_descriptors() <= descriptors; }))
      << test::open_descriptors() << " descriptors after, " << descriptors << " before";
  EXPECT_TRUE(test::eventually([&] { return test::running_threads() <= threads; }));
}

}  // namespace
}  // namespace gyre
