// Ten thousand ranks, in the time and memory of a small machine.
#include <sys/resource.h>

#include <cstdio>
#include <ctime>

#include "tests/simulate/calls.hpp"

namespace gyre::sim {
namespace {

constexpr double kPrivateSeconds = 60, kSharedSeconds = 180;
constexpr long kMostKibibytes = 2L << 20;
constexpr std::uint32_t kEach = 8, kHosts = 1250, kWorld = kEach * kHosts;

// Of this process alone, so that other programs do not count.
double processor_seconds() {
  return static_cast<double>(std::clock()) / static_cast<double>(CLOCKS_PER_SEC);
}

template <typename Simulate>
Timeline within(double seconds, const Simulate& simulate_it) {
  const double began = processor_seconds();
  const auto timeline = simulate_it();
  const double took = processor_seconds() - began;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  EXPECT_TRUE(timeline) << timeline.error().text;
  EXPECT_LT(took, seconds);
  EXPECT_LT(usage.ru_maxrss, kMostKibibytes);
  if (!timeline) return {};
  std::printf("%llu steps in %.1f s, %.0f ns each; at most %ld MiB; model time %.3f ms\n",
              static_cast<unsigned long long>(timeline->steps), took,
              1e9 * took / static_cast<double>(timeline->steps), usage.ru_maxrss >> 10,
              1e3 * timeline->seconds);
  return *timeline;
}

Hosts cluster() {
  Hosts hosts;
  hosts.ranks_per_host = kEach;
  hosts.same_host = {.latency = 1e-6, .seconds_per_byte = 1 / 200e9};
  hosts.other_host = {.latency = 5e-6, .seconds_per_byte = 1 / 50e9};
  hosts.step.fixed = 5e-7;
  return hosts;
}

CallOf ring() { return {"ring", CollectiveKind::all_reduce, kWorld, 1'000'000'000}; }

CallOf hierarchical() {
  CallOf call{"hierarchical", CollectiveKind::all_reduce, kWorld, 1'000'000'000};
  call.ranks_per_host = kEach;
  return call;
}

TEST(TenThousandRanks, RingOverPrivateLinks) {
  const LinkCost link{.latency = 5e-6, .seconds_per_byte = 1 / 25e9};
  const Timeline timeline =
      within(kPrivateSeconds, [&] { return try_simulate(ring(), uniform(link)); });
  expect_seconds(timeline.seconds, 2.0 * (kWorld - 1) * (5e-6 + 1e5 / 25e9));
}

TEST(TenThousandRanks, RingOverSharedNics) {
  Hosts hosts = cluster();
  hosts.nic_bytes_per_second = 25e9;
  const Timeline timeline =
      within(kSharedSeconds, [&] { return try_simulate(ring(), machine_for(hosts, kWorld)); });
  // One rank of each host goes out, at what the NIC carries.
  EXPECT_GT(timeline.seconds, 2.0 * (kWorld - 1) * 1e5 / 25e9);
  for (std::size_t nic = 0; nic < 2 * kHosts; ++nic) {
    EXPECT_NEAR(timeline.links[nic].peak, 25e9, 25);
  }
}

// Twice the events, and flows that meet on the way: fewer ranks, at the same price for each.
TEST(ThreeThousandRanks, RingWhereEveryMessageCrossesSharedLinks) {
  constexpr std::uint32_t kRanks = 3000;
  Hosts hosts = cluster();
  hosts.nic_bytes_per_second = 25e9;
  hosts.memory_bytes_per_second = 400e9;
  within(kSharedSeconds * kRanks * kRanks / kWorld / kWorld, [&] {
    return try_simulate({"ring", CollectiveKind::all_reduce, kRanks, 1'000'000'000},
                        machine_for(hosts, kRanks));
  });
}

// Steps with a thousand lanes.
TEST(ThousandRanks, EverybodyToEverybody) {
  const LinkCost link{.latency = 5e-6, .seconds_per_byte = 1 / 25e9};
  const CallOf call{"one_shot", CollectiveKind::all_reduce, 1000, 1000};
  const Timeline timeline =
      within(kPrivateSeconds / 10, [&] { return try_simulate(call, uniform(link)); });
  expect_seconds(timeline.seconds, 5e-6 + 1000 / 25e9);
}

TEST(TenThousandRanks, HierarchicalOverPrivateLinks) {
  const Hosts hosts = cluster();
  const Timeline timeline = within(
      kPrivateSeconds, [&] { return try_simulate(hierarchical(), machine_for(hosts, kWorld)); });
  // Shares to all others of the host, twice round the hosts by chunks, and shares again.
  const double share = 1e9 / kEach, chunk = share / kHosts;
  const double within_host =
      (kEach - 1) * hosts.step.fixed + hosts.same_host.latency + share / 200e9 + hosts.step.fixed;
  const double hop = hosts.other_host.latency + chunk / 50e9 + hosts.step.fixed;
  expect_seconds(timeline.seconds, 2 * within_host + hosts.step.fixed + 2.0 * (kHosts - 1) * hop);
}

TEST(TenThousandRanks, HierarchicalOverSharedNics) {
  Hosts hosts = cluster();
  hosts.nic_bytes_per_second = 100e9;
  const Timeline timeline = within(
      kSharedSeconds, [&] { return try_simulate(hierarchical(), machine_for(hosts, kWorld)); });
  EXPECT_NEAR(timeline.links[0].peak, 100e9, 100) << "eight ranks want more than the NIC has";
}

}  // namespace
}  // namespace gyre::sim
