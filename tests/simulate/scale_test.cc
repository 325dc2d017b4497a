// Ten thousand ranks, in the time and memory of a small machine.
#include <sys/resource.h>

#include <cstdio>
#include <ctime>

#include "schedule/builder.hpp"
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

// As a hierarchical all-reduce moves: the ranks of a host reduce-scatter eight shards of 1,250
// chunks in a ring, each rank all-reduces its shard along the ring of its peers on other hosts, and
// the ranks of a host gather the shards. Only the movements are right, not the values: steps read
// nothing but the input.
Program hierarchical(std::uint32_t rank) {
  const std::int64_t host = rank / kEach, local = rank % kEach, chunks = kHosts;
  const std::int64_t first = host * kEach, mine = local * chunks;
  const From previous{first + (local + kEach - 1) % kEach}, all{first, 0, kEach},
      previous_host{std::int64_t{rank} - kEach};
  const To next{first + (local + 1) % kEach}, everyone{first, 0, kEach},
      next_host{std::int64_t{rank} + kEach};
  const auto shard = [&](std::int64_t back) { return In{mine - back * chunks, 1}; };
  const auto pass = [&](std::int64_t back) {
    return recv_reduce_send(previous, shard(back), next);
  };
  return Builder(rank, kWorld, kWorld, kWorld)
      .loop(chunks, send(shard(1), next), pass(2), pass(3), pass(4), pass(5), pass(6), pass(7),
            recv_reduce_store(previous, shard(0), Out{mine, 1}))
      .loop(1, send(In{mine + host}, next_host))
      .loop(chunks - 2, recv_reduce_send(previous_host, In{mine, 1}, next_host))
      .loop(1, recv_reduce_store_send(previous_host, In{mine}, Out{mine}, next_host))
      .loop(chunks - 2, recv_store_send(previous_host, Out{mine, 1}, next_host))
      .loop(1, recv_store(previous_host, Out{mine + host}))
      .loop(chunks, send(In{mine, 1}, everyone), recv_store(all, Out{mine, 1}))
      .program();
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
  const Message message =
      message_in_one_tile(CollectiveKind::all_reduce, 1'000'000'000, hierarchical(0));
  within(kPrivateSeconds,
         [&] { return simulate(hierarchical, kWorld, machine_for(cluster(), kWorld), message); });
}

TEST(TenThousandRanks, HierarchicalOverSharedNics) {
  Hosts hosts = cluster();
  hosts.nic_bytes_per_second = 100e9;
  const Message message =
      message_in_one_tile(CollectiveKind::all_reduce, 1'000'000'000, hierarchical(0));
  const Timeline timeline = within(kSharedSeconds, [&] {
    return simulate(hierarchical, kWorld, machine_for(hosts, kWorld), message);
  });
  EXPECT_NEAR(timeline.links[0].peak, 100e9, 100) << "eight ranks want more than the NIC has";
}

}  // namespace
}  // namespace gyre::sim
