#include <gtest/gtest.h>

#include <vector>

#include "base/result_route.hpp"
#include "exec/result_routes.hpp"

namespace gyre {
namespace {

using Way = ResultRoute::Way;
constexpr std::uint64_t kBytes = 1 << 20;

// Memory and caches: what a call costs by its way and that of the call before.
struct Machine {
  // Buffers that no cache holds: whatever came before.
  static Ticks cold(Way way, Way) { return way == Way::past ? 100'000 : 160'000; }
  // The same buffers each time: past the caches they are lost, and the next call through them pays.
  static Ticks hot(Way way, Way before) {
    if (way == Way::past) return 80'000;
    return before == Way::past ? 90'000 : 30'000;
  }
  Ticks (*cost)(Way, Way);
  Way before = Way::through;
};

// Calls that went past the caches.
int past_among(ResultRoute& route, Machine& machine, int calls) {
  int past = 0;
  for (int i = 0; i < calls; ++i) {
    const Way way = route.next();
    past += way == Way::past ? 1 : 0;
    route.took(way, kBytes, machine.cost(way, machine.before));
    machine.before = way;
  }
  return past;
}

constexpr int kSoon = 2 * static_cast<int>(ResultRoute::kFirstInterval + ResultRoute::kTrialCalls);

TEST(ResultRoute, GoesPastTheCachesWhereTheyHoldNothing) {
  Machine machine{Machine::cold};
  ResultRoute route(Way::through);
  (void)past_among(route, machine, kSoon);
  EXPECT_EQ(route.better(), Way::past);
}

TEST(ResultRoute, FindsTheCachesThatItsOwnCallsHaveEmptied) {
  Machine machine{Machine::hot, Way::past};
  ResultRoute route(Way::past);
  (void)past_among(route, machine, kSoon);
  EXPECT_EQ(route.better(), Way::through);
}

TEST(ResultRoute, TriesSeldomWhatNeverWins) {
  Machine hot{Machine::hot}, cold{Machine::cold, Way::past};
  ResultRoute through(Way::through), past(Way::past);
  EXPECT_LT(past_among(through, hot, 10'000), 100);
  EXPECT_EQ(through.better(), Way::through);
  EXPECT_GT(past_among(past, cold, 10'000), 9'900);
  EXPECT_EQ(past.better(), Way::past);
}

TEST(ResultRoute, FollowsCallsThatChange) {
  Machine machine{Machine::hot};
  ResultRoute route(Way::through);
  (void)past_among(route, machine, 1000);
  machine.cost = Machine::cold;
  (void)past_among(route, machine, 2 * static_cast<int>(ResultRoute::kLongestInterval));
  EXPECT_EQ(route.better(), Way::past);
}

TEST(ResultRoute, OneInterruptDecidesNothing) {
  ResultRoute route(Way::through);
  Machine machine{Machine::hot};
  for (int i = 0; i < 200; ++i) {
    (void)past_among(route, machine, 7);
    const Way way = route.next();
    route.took(way, kBytes, machine.cost(way, machine.before) * 50);
    machine.before = way;
    EXPECT_EQ(route.better(), Way::through);
  }
}

// The calls of a group are all given their way before the first of them ends.
TEST(ResultRoute, GroupsOfCallsAreTriedAFewAtATime) {
  constexpr int kGroup = 100, kGroups = 200;
  ResultRoute route(Way::through);
  Machine machine{Machine::hot};
  int past = 0;
  for (int group = 0; group < kGroups; ++group) {
    std::vector<Way> ways;
    for (int i = 0; i < kGroup; ++i) ways.push_back(route.next());
    for (const Way way : ways) {
      past += way == Way::past ? 1 : 0;
      route.took(way, kBytes, machine.cost(way, machine.before));
      machine.before = way;
    }
  }
  EXPECT_EQ(route.better(), Way::through);
  EXPECT_LT(past, kGroup * kGroups / 100);
}

TEST(ResultRoute, ACallThatFailedChangesNothing) {
  ResultRoute route(Way::through);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(route.next(), Way::through);
  route.took(Way::through, 0, 5);  // nothing was written
  EXPECT_EQ(route.next(), Way::through);
}

TEST(ResultRoutes, LargeResultsBeginPastTheCaches) {
  ResultRoutes routes;
  const auto way = [&](std::uint64_t bytes) {
    return routes.of(CallKind::all_reduce, bytes)->better();
  };
  EXPECT_EQ(way(ResultRoutes::kLeastBytes), Way::through);
  EXPECT_EQ(way(ResultRoutes::kPastBytes - 1), Way::through);
  EXPECT_EQ(way(ResultRoutes::kPastBytes), Way::past);
  EXPECT_EQ(way(ResultRoutes::kEndBytes - 1), Way::past);
  EXPECT_EQ(routes.of(CallKind::all_reduce, ResultRoutes::kLeastBytes - 1), nullptr);
  EXPECT_EQ(routes.of(CallKind::all_reduce, ResultRoutes::kEndBytes), nullptr);
  EXPECT_NE(routes.of(CallKind::reduce_scatter_v, kBytes), nullptr);
  EXPECT_NE(routes.of(CallKind::all_gather, kBytes), routes.of(CallKind::all_reduce, kBytes));
}

}  // namespace
}  // namespace gyre
