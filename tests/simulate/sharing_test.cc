// Links that messages share, and cores that steps share.
#include <limits>

#include "schedule/builder.hpp"
#include "simulate/network.hpp"
#include "tests/simulate/calls.hpp"

namespace gyre::sim {
namespace {

constexpr double kGiga = 1e9;

// Every message crosses link 0.
Machine one_link(double capacity, const LinkCost& link, const StepCost& step = {}) {
  Machine machine = uniform(link, step);
  machine.fabric.links = {{"bus", capacity}};
  machine.fabric.route = [](std::uint32_t, std::uint32_t, std::vector<std::uint32_t>& route) {
    route.push_back(0);
  };
  return machine;
}

TEST(SharedLink, NFlowsTakeNTimesAsLong) {
  constexpr double kBytes = 1 << 20;
  for (const std::uint32_t n : {2U, 3U, 9U, 65U}) {
    const LinkCost link{.latency = 3e-6, .seconds_per_byte = 1 / (4 * kGiga)};
    const auto timeline =
        timeline_of({"direct", CollectiveKind::reduce, n, 1 << 20}, one_link(10 * kGiga, link));
    // Each lane carries at most 4 of the link's 10.
    const double rate = std::min(4 * kGiga, 10 * kGiga / (n - 1));
    expect_seconds(timeline.seconds, 3e-6 + kBytes / rate);
    EXPECT_DOUBLE_EQ(timeline.links[0].bytes, kBytes * (n - 1));
    EXPECT_NEAR(timeline.links[0].peak, rate * (n - 1), 1);
  }
}

TEST(SharedLink, ALaneNeedsNoLimitOfItsOwn) {
  const auto timeline =
      timeline_of({"direct", CollectiveKind::reduce, 5, 1000}, one_link(1000, LinkCost{}));
  expect_seconds(timeline.seconds, 4);
}

// Flows of different amounts that start together on one link: whenever the shortest is through, the
// others go faster.
TEST(SharedLink, ShortFlowsLeaveEarly) {
  const std::vector<double> capacities{8}, amounts{1, 2, 4, 4, 10};
  Network network(capacities);
  const std::uint32_t route = 0;
  for (const double amount : amounts) {
    network.carry(network.add_flow({&route, 1}, std::numeric_limits<double>::infinity()), amount,
                  0);
  }
  std::vector<double> finished(amounts.size());
  while (network.advance()) {
    for (const std::uint32_t flow : network.done()) finished[flow] = network.now();
  }
  double at = 0, before = 0;
  for (std::size_t i = 0; i < amounts.size(); ++i) {
    at += (amounts[i] - before) * static_cast<double>(amounts.size() - i) / capacities[0];
    before = amounts[i];
    EXPECT_NEAR(finished[i], at, kExact * at) << i;
  }
  EXPECT_NEAR(network.carried(0), 21, kExact);
}

// Two classes on a line of two links: the long flow is held by the tight link, and speeds up when
// the short one there is through.
TEST(SharedLink, ALongFlowTakesWhatIsLeft) {
  Network network(std::vector<double>{10, 4});
  const std::vector<std::uint32_t> near{0}, both{0, 1}, far{1};
  const double unbound = std::numeric_limits<double>::infinity();
  const auto a = network.add_flow(near, unbound), b = network.add_flow(both, unbound),
             c = network.add_flow(far, unbound);
  network.carry(a, 80, 0);
  network.carry(b, 20, 0);
  network.carry(c, 4, 0);
  // Until 2: a 8, b 2, c 2. Then b has the far link alone: a 6, b 4. b: 4 + 4t = 20 at 6.
  // a: 16 + 24 at 6, then 10: 40 left.
  double end_a = 0, end_b = 0, end_c = 0;
  while (network.advance()) {
    for (const std::uint32_t flow : network.done()) {
      (flow == a ? end_a : flow == b ? end_b : end_c) = network.now();
    }
  }
  EXPECT_NEAR(end_c, 2, kExact);
  EXPECT_NEAR(end_b, 6, kExact);
  EXPECT_NEAR(end_a, 10, kExact);
}

TEST(SharedLink, MessagesOfALaneFollowEachOther) {
  // Two lanes of 10 messages each, on a link that carries one and a half of them.
  const LinkCost link{.latency = 1, .seconds_per_byte = 1};
  const auto timeline = timeline_of({.algorithm = "direct",
                                     .kind = CollectiveKind::reduce,
                                     .world = 3,
                                     .bytes = 640,
                                     .slot_bytes = 64,
                                     .options = {.slots = 10}},
                                    one_link(1.5, link));
  expect_seconds(timeline.seconds, 640 / 0.75 + 1);
}

// A host's eight ranks send to the next host at once, as the last phase of hierarchical schedules.
TEST(Nics, ShareTheirBandwidthAmongTheRanksOfAHost) {
  constexpr std::uint32_t kEach = 8, kWorld = 4 * kEach;
  constexpr std::uint64_t kBytes = 1 << 16;
  const auto program = [](std::uint32_t rank) {
    return Builder(rank, kWorld)
        .loop(1, send(In{0}, To{rank + kEach}))
        .loop(1, recv_store(From{std::int64_t{rank} - kEach}, Out{0}))
        .program();
  };
  Hosts hosts;
  hosts.ranks_per_host = kEach;
  hosts.other_host = {.latency = 1e-6, .seconds_per_byte = 1 / (50 * kGiga)};
  hosts.nic_bytes_per_second = 25 * kGiga;
  const Message message = message_in_one_tile(CollectiveKind::broadcast, kBytes, program(0));
  const auto timeline = simulate(program, kWorld, machine_for(hosts, kWorld), message);
  ASSERT_TRUE(timeline) << timeline.error().text;
  expect_seconds(timeline->seconds, 1e-6 + kEach * kBytes / (25 * kGiga));
  for (std::size_t link = 0; link < 8; ++link) {
    EXPECT_NEAR(timeline->links[link].peak, 25 * kGiga, 1);
  }
}

TEST(Cores, AreSharedByTheStepsOfAHost) {
  // Four ranks fold for a second each, on two cores.
  Hosts hosts;
  hosts.step.reduce_per_byte = 1;
  hosts.cores = 2;
  const std::uint32_t world = 4;
  const auto timeline =
      timeline_of({"one_shot", CollectiveKind::all_reduce, world, 1}, machine_for(hosts, world));
  // Three operands come to each: 3 seconds of work per rank.
  expect_seconds(timeline.seconds, 6);
  EXPECT_NEAR(timeline.links[0].bytes, 12, kExact);
  EXPECT_NEAR(timeline.links[0].peak, 2, kExact);
}

TEST(Cores, ThatSufficeChangeNothing) {
  Hosts hosts;
  hosts.same_host = {.latency = 1e-6, .seconds_per_byte = 1e-10};
  hosts.step = {.fixed = 2e-7, .reduce_per_byte = 2e-11, .copy_per_byte = 1e-11};
  const CallOf call{"two_shot", CollectiveKind::all_reduce, 8, 1 << 20, 32 << 10};
  const double apart = timeline_of(call, machine_for(hosts, 8)).seconds;
  hosts.cores = 8;
  expect_seconds(timeline_of(call, machine_for(hosts, 8)).seconds, apart);
  hosts.cores = 2;
  EXPECT_GT(timeline_of(call, machine_for(hosts, 8)).seconds, apart);
}

// The two ways of working out times agree where links are so wide that nobody shares anything.
TEST(WideLinks, GiveTheTimesOfPrivateOnes) {
  const StepCost step{.fixed = 1e-7, .reduce_per_byte = 1e-11, .copy_per_byte = 2e-11};
  for (const CatalogueEntry& entry : catalogue()) {
    for (const std::uint32_t world : {2U, 5U, 12U}) {
      const CallOf call{entry.algorithm, entry.kind, world, 3 << 20, 16 << 10};
      const LinkCost link{.latency = 2e-6, .seconds_per_byte = 1e-9};
      const Timeline apart = timeline_of(call, uniform(link, step));
      const Timeline shared = timeline_of(call, one_link(1e15, link, step));
      expect_seconds(shared.seconds, apart.seconds);
      EXPECT_EQ(shared.messages, apart.messages);
      for (std::uint32_t rank = 0; rank < world; ++rank) {
        expect_seconds(shared.ranks[rank].finish, apart.ranks[rank].finish);
      }
    }
  }
}

}  // namespace
}  // namespace gyre::sim
