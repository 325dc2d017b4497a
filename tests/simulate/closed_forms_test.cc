// Where a closed form exists, the simulated time is that, to 1e-9.
#include <cmath>

#include "schedule/builder.hpp"
#include "tests/simulate/calls.hpp"

namespace gyre::sim {
namespace {

constexpr LinkCost kLink{.latency = 5e-6, .seconds_per_byte = 1 / 25e9};
constexpr StepCost kStep{.fixed = 3e-7,
                         .per_message = 1e-7,
                         .read_per_byte = 1 / 90e9,
                         .reduce_per_byte = 1 / 30e9,
                         .copy_per_byte = 1 / 50e9,
                         .send_per_byte = 1 / 70e9};

// The duration of a step on `m` bytes.
struct Work {
  double messages = 0, folds = 0, copies = 0, sends = 0;

  double of(const StepCost& cost, double m) const {
    return cost.fixed + cost.per_message * messages +
           m * (cost.read_per_byte + cost.reduce_per_byte * folds + cost.copy_per_byte * copies +
                cost.send_per_byte * sends);
  }
};

constexpr Work kSend{.messages = 1, .sends = 1};
constexpr Work kCopySend{.messages = 1, .copies = 1, .sends = 1};
constexpr Work kStore{.messages = 1, .copies = 1};
constexpr Work kStoreSend{.messages = 2, .copies = 1, .sends = 1};
constexpr Work kReduceSend{.messages = 2, .folds = 1, .sends = 1};
constexpr Work kReduceStore{.messages = 1, .folds = 1, .copies = 1};
constexpr Work kReduceStoreSend{.messages = 2, .folds = 1, .copies = 1, .sends = 1};

constexpr std::uint32_t kWorlds[] = {2, 3, 4, 8, 17, 64, 300};
constexpr std::uint64_t kChunk = 1000;  // bytes

class ClosedForms : public testing::TestWithParam<StepCost> {
 protected:
  double work(const Work& step, double m) const { return step.of(GetParam(), m); }
  static double hop(double m) { return kLink.latency + m * kLink.seconds_per_byte; }
  Machine machine() const { return uniform(kLink, GetParam()); }
};

TEST_P(ClosedForms, RingAllReduce) {
  for (const std::uint32_t n : kWorlds) {
    const double m = kChunk;
    const double steps = work(kSend, m) + (n - 2) * work(kReduceSend, m) +
                         work(kReduceStoreSend, m) + (n - 2) * work(kStoreSend, m) +
                         work(kStore, m);
    const auto timeline =
        timeline_of({"ring", CollectiveKind::all_reduce, n, n * kChunk}, machine());
    expect_seconds(timeline.seconds, steps + 2 * (n - 1) * hop(m));
    EXPECT_EQ(timeline.messages, 2ULL * n * (n - 1));
  }
}

TEST_P(ClosedForms, RingReduceScatter) {
  for (const std::uint32_t n : kWorlds) {
    const double m = kChunk;
    const double steps = work(kSend, m) + (n - 2) * work(kReduceSend, m) + work(kReduceStore, m);
    expect_seconds(
        timeline_of({"ring", CollectiveKind::reduce_scatter, n, n * kChunk}, machine()).seconds,
        steps + (n - 1) * hop(m));
  }
}

TEST_P(ClosedForms, RingAllGather) {
  for (const std::uint32_t n : kWorlds) {
    const double m = kChunk;
    const double steps = work(kCopySend, m) + (n - 2) * work(kStoreSend, m) + work(kStore, m);
    expect_seconds(
        timeline_of({"ring", CollectiveKind::all_gather, n, n * kChunk}, machine()).seconds,
        steps + (n - 1) * hop(m));
  }
}

TEST_P(ClosedForms, OneShotAllReduce) {
  for (const std::uint32_t n : {2U, 3U, 8U, 33U}) {
    const double m = kChunk, peers = n - 1;
    const double steps = work({.messages = peers, .sends = peers}, m) +
                         work({.messages = peers, .folds = peers, .copies = 1}, m);
    expect_seconds(
        timeline_of({"one_shot", CollectiveKind::all_reduce, n, kChunk}, machine()).seconds,
        steps + hop(m));
  }
}

TEST_P(ClosedForms, TwoShotAllReduce) {
  for (const std::uint32_t n : {2U, 3U, 8U, 33U}) {
    const double m = kChunk, peers = n - 1;
    const double fold =
        work({.messages = 2 * peers, .folds = peers, .copies = 1, .sends = peers}, m);
    expect_seconds(
        timeline_of({"two_shot", CollectiveKind::all_reduce, n, n * kChunk}, machine()).seconds,
        peers * work(kSend, m) + hop(m) + fold + hop(m) + peers * work(kStore, m));
  }
}

INSTANTIATE_TEST_SUITE_P(FreeSteps, ClosedForms, testing::Values(StepCost{}));
INSTANTIATE_TEST_SUITE_P(StepsThatCost, ClosedForms, testing::Values(kStep));

// Tile t leaves the root when tile t - 1 has left it, and when the slot of tile t - slots is free
// again: one hop after that tile left.
double last_tile_leaves(std::uint64_t tiles, std::uint32_t slots, double occupied, double hop) {
  const auto last = static_cast<double>(tiles - 1);
  if (slots * occupied >= hop) return last * occupied;
  return std::floor(last / slots) * hop + std::fmod(last, slots) * occupied;
}

TEST(PipelinedRingBroadcast, IsBoundByTheLinkOrByTheCredits) {
  constexpr std::uint64_t kSlotBytes = 64 << 10;
  const double occupied = kSlotBytes / 25e9, hop = kLink.latency + occupied;
  for (const std::uint32_t n : {2U, 3U, 10U, 100U}) {
    for (const std::uint64_t tiles : {1ULL, 2ULL, 7ULL, 100ULL}) {
      for (const std::uint32_t slots : {1U, 2U, 3U, 4U, 8U}) {
        const auto timeline = timeline_of({.algorithm = "ring",
                                           .kind = CollectiveKind::broadcast,
                                           .world = n,
                                           .bytes = tiles * kSlotBytes,
                                           .slot_bytes = kSlotBytes,
                                           .options = {.slots = slots}},
                                          uniform(kLink));
        expect_seconds(timeline.seconds,
                       last_tile_leaves(tiles, slots, occupied, hop) + (n - 1) * hop);
      }
    }
  }
}

TEST(PipelinedRingBroadcast, OverlapsStepsWithTransfers) {
  constexpr std::uint64_t kSlotBytes = 64 << 10;
  constexpr std::uint64_t kTiles = 50;
  constexpr std::uint32_t kRanks = 6;
  const LinkCost link{.latency = 5e-6, .seconds_per_byte = 1 / 10e9};
  const double m = kSlotBytes, occupied = m * link.seconds_per_byte;
  // The link is busier than any rank.
  ASSERT_LT(kStoreSend.of(kStep, m), occupied);
  const auto timeline = timeline_of({.algorithm = "ring",
                                     .kind = CollectiveKind::broadcast,
                                     .world = kRanks,
                                     .bytes = kTiles * kSlotBytes,
                                     .slot_bytes = kSlotBytes,
                                     .options = {.slots = 16}},
                                    uniform(link, kStep));
  expect_seconds(timeline.seconds, kCopySend.of(kStep, m) +
                                       (kRanks - 1) * (link.latency + occupied) +
                                       (kRanks - 2) * kStoreSend.of(kStep, m) +
                                       kStore.of(kStep, m) + (kTiles - 1) * occupied);
}

TEST(CreditLatency, DelaysTheSlotOnly) {
  // One slot: each tile waits until the word that the last was taken is back.
  const LinkCost link{.latency = 2e-6, .seconds_per_byte = 1e-9, .credit_latency = 1e-6};
  const auto timeline = timeline_of({.algorithm = "ring",
                                     .kind = CollectiveKind::broadcast,
                                     .world = 2,
                                     .bytes = 10 * 1024,
                                     .slot_bytes = 1024,
                                     .options = {.slots = 1}},
                                    uniform(link));
  expect_seconds(timeline.seconds, 10 * (2e-6 + 1024e-9) + 9 * 1e-6);
}

// The strands of rank 0 wait for each other by turns: two steps of one, two of the other.
TEST(Tokens, GoBothWaysBetweenTheStrandsOfARank) {
  const auto program = [](std::uint32_t rank) {
    if (rank == 1) return Builder(1, 2).loop(1, recv_store(From{0}, Out{0})).program();
    const Draft store = copy(In{0}, Out{0});
    return Builder(0, 2)
        .loop(1, store.telling_other_strand(), store.after_other_strand())
        .strand()
        .loop(1, send(In{0}, To{1}).after_other_strand(), store.telling_other_strand())
        .program();
  };
  const Machine machine = uniform({.latency = 1e-3}, {.fixed = 1});
  for (const std::uint64_t tiles : {1ULL, 2ULL, 9ULL}) {
    for (const std::uint32_t slots : {1U, 3U}) {
      const Message message = message_of(CollectiveKind::broadcast, tiles * 64, program(0), 64);
      const auto timeline = simulate(program, 2, machine, message, {.slots = slots});
      ASSERT_TRUE(timeline) << timeline.error().text;
      expect_seconds(timeline->seconds, 4.0 * static_cast<double>(tiles));
      EXPECT_EQ(timeline->messages, tiles);
    }
  }
}

TEST(OneRank, OnlyCopies) {
  const StepCost step{.fixed = 1e-6, .copy_per_byte = 1e-9};
  expect_seconds(
      timeline_of({"ring", CollectiveKind::all_reduce, 1, 1000}, uniform(kLink, step)).seconds,
      2e-6);
}

TEST(EmptyMessages, CostLatencyAlone) {
  expect_seconds(timeline_of({"ring", CollectiveKind::all_reduce, 8, 0}, uniform(kLink)).seconds,
                 14 * kLink.latency);
}

}  // namespace
}  // namespace gyre::sim
