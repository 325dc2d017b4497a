#include <gtest/gtest.h>

#include <cmath>

#include "plan/cost_model.hpp"

namespace gyre {
namespace {

constexpr std::uint64_t kSlice = 128 << 10;

const CatalogueEntry& all_reduce(std::string_view algorithm) {
  return *find_schedule(algorithm, CollectiveKind::all_reduce);
}

double seconds(const MachineFacts& machine, std::uint32_t per_host, std::string_view algorithm,
               std::uint64_t bytes) {
  return CostModel(machine, per_host, 4).seconds(all_reduce(algorithm), kSlice, bytes);
}

// Over memory, what executors save begins at certain sizes.
TEST(CostModel, MoreBytesNeverTakeLessTime) {
  const MachineFacts machine = alike_hosts(1, 4, {2, 0}, false);
  CostModel model(machine, 4, 4);
  for (const CatalogueEntry& entry : catalogue()) {
    if (entry.kind == CollectiveKind::barrier) continue;
    double before = 0;
    for (std::uint64_t bytes = 1; bytes < (1U << 28); bytes *= 2) {
      const double now = model.seconds(entry, kSlice, bytes);
      EXPECT_TRUE(std::isfinite(now) && now > 0) << entry.algorithm;
      EXPECT_GE(now, before) << entry.algorithm << " " << bytes;
      before = now;
    }
  }
}

TEST(CostModel, FewerCoresTakeLonger) {
  EXPECT_GT(seconds(alike_hosts(1, 8, {2, 0}, true), 8, "two_shot", 1 << 20),
            2 * seconds(alike_hosts(1, 8, {8, 0}, true), 8, "two_shot", 1 << 20));
}

TEST(CostModel, SocketsTakeLongerThanMemory) {
  EXPECT_GT(seconds(alike_hosts(1, 4, {4, 0}, false), 4, "ring", 64),
            3 * seconds(alike_hosts(1, 4, {4, 0}, true), 4, "ring", 64));
}

// Two bytes leave a ring's host for each of the message, near enough.
TEST(CostModel, ANicBoundsWhatLeavesTheHost) {
  constexpr double kNic = 0.2e9, kBytes = 1 << 30;
  const double time = seconds(alike_hosts(8, 1, {4, kNic}, true), 1, "ring", 1 << 30);
  EXPECT_GE(time, 2 * kBytes * 7 / 8 / kNic * 0.999);
  EXPECT_LT(time, 2 * kBytes * 7 / 8 / kNic * 1.5);
}

// One host with a slow NIC holds up a ring, whichever host it is.
TEST(CostModel, TheSlowestHostCounts) {
  MachineFacts machine = alike_hosts(4, 1, {4, 10e9}, true);
  const double fast = seconds(machine, 1, "ring", 1 << 28);
  for (std::size_t host = 0; host < 4; ++host) {
    machine.hosts.assign(4, {4, 10e9});
    machine.hosts[host].nic_bytes_per_second = 0.05e9;
    EXPECT_GT(seconds(machine, 1, "ring", 1 << 28), 4 * fast) << host;
  }
}

// What is extrapolated from 8 and 16 ranks is what more of them would be: a ring's hops grow with
// the others, a butterfly's rounds by one for each doubling.
TEST(CostModel, LargerWorldsGoOnAsSmallerOnesDo) {
  const auto time = [](std::uint32_t hosts, std::string_view algorithm) {
    return seconds(alike_hosts(hosts, 1, {4, 0}, true), 1, algorithm, 64);
  };
  EXPECT_NEAR(time(128, "ring") / time(16, "ring"), 127.0 / 15, 0.1);
  EXPECT_NEAR(time(1024, "ring") / time(16, "ring"), 1023.0 / 15, 2);
  EXPECT_GT(time(1024, "recursive_doubling"), 2 * time(16, "recursive_doubling"));
  EXPECT_LT(time(1024, "recursive_doubling"), 6 * time(16, "recursive_doubling"));
}

// Nor does a byte of a long message cost more on a ring of many than on one of few.
TEST(CostModel, LongMessagesOnLongRings) {
  const auto time = [](std::uint32_t hosts) {
    return seconds(alike_hosts(hosts, 1, {4, 1e9}, true), 1, "ring", std::uint64_t{1} << 36);
  };
  EXPECT_NEAR(time(1024) / time(16), 1023.0 / 1024 / (15.0 / 16), 0.1);
}

TEST(CostModel, LargeMessagesOfLargeWorldsAreBoundByTheNic) {
  const MachineFacts machine = alike_hosts(128, 8, {8, 10e9}, true);
  for (const std::string_view algorithm : {"ring", "two_rings", "tree", "hierarchical"}) {
    EXPECT_GT(seconds(machine, 8, algorithm, 1 << 30), (1 << 30) / 10e9) << algorithm;
  }
}

TEST(CostModel, TheSameEveryTime) {
  const MachineFacts machine = alike_hosts(2, 4, {2, 5e9}, true);
  for (const std::uint64_t bytes : {8U, 5000U, 12345678U}) {
    EXPECT_EQ(seconds(machine, 4, "hierarchical", bytes),
              seconds(machine, 4, "hierarchical", bytes));
  }
}

}  // namespace
}  // namespace gyre
