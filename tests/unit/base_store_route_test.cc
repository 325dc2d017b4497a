#include <gtest/gtest.h>

#include "base/store_route.hpp"

namespace gyre {
namespace {

using Way = StoreRoute::Way;

constexpr std::uint64_t kBytes = 64 << 10;

// What storing a value costs on some path, by way.
struct Path {
  Ticks through, past;
  Ticks cost(Way way) const { return way == Way::through ? through : past; }
};

constexpr Path kShared{.through = 12'000, .past = 4'000};
constexpr Path kApart{.through = 60'000, .past = 10'000};

// Values past the caches among `values`.
int past_among(StoreRoute& route, const Path& path, int values) {
  int past = 0;
  for (int i = 0; i < values; ++i) {
    const Way way = route.next(kBytes);
    route.took(way, kBytes, path.cost(way));
    past += way == Way::past ? 1 : 0;
  }
  return past;
}

TEST(StoreRoute, StaysInTheCachesThatAreShared) {
  StoreRoute route;
  EXPECT_LE(past_among(route, kShared, 10'000), 10'000 / StoreRoute::kTrialInterval + 1);
  EXPECT_EQ(route.better(), Way::through);
}

TEST(StoreRoute, GoesPastCachesThatAreApartAfterAFewValues) {
  StoreRoute route;
  (void)past_among(route, kApart, StoreRoute::kFirstTrial + StoreRoute::kConvinces);
  EXPECT_EQ(route.better(), Way::past);
  EXPECT_GT(past_among(route, kApart, 10'000), 9'900);
}

TEST(StoreRoute, FollowsThreadsThatMove) {
  StoreRoute route;
  for (int i = 0; i < 3; ++i) {
    (void)past_among(route, kApart, 200);
    EXPECT_EQ(route.better(), Way::past);
    (void)past_among(route, kShared, 200);
    EXPECT_EQ(route.better(), Way::through);
  }
}

TEST(StoreRoute, OneInterruptDecidesNothing) {
  StoreRoute route;
  (void)past_among(route, kShared, 50);
  route.took(Way::through, kBytes, 1'000 * kShared.through);
  EXPECT_LT(past_among(route, kShared, 200), 10);
  EXPECT_EQ(route.better(), Way::through);

  (void)past_among(route, kApart, 400);
  route.took(Way::past, kBytes, 1'000 * kApart.past);
  EXPECT_GT(past_among(route, kApart, 200), 190);
  EXPECT_EQ(route.better(), Way::past);
}

TEST(StoreRoute, PrefersTheCachesWhereBothCostTheSame) {
  constexpr Path kAlike{.through = 10'000, .past = 10'000};
  StoreRoute route;
  (void)past_among(route, kAlike, 1'000);
  EXPECT_EQ(route.better(), Way::through);
  (void)past_among(route, kApart, 400);
  ASSERT_EQ(route.better(), Way::past);
  (void)past_among(route, kAlike, 1'000);
  EXPECT_EQ(route.better(), Way::through);
}

TEST(StoreRoute, ATrialOfWhichNothingIsHeardIsNone) {
  StoreRoute route;
  (void)past_among(route, kApart, 50);
  ASSERT_EQ(route.better(), Way::past);
  int through = 0;
  for (int i = 0; i < 1'000; ++i) through += route.next(kBytes) == Way::through ? 1 : 0;
  EXPECT_LT(through, 10);
}

TEST(StoreRoute, SmallValuesGoThroughAndSayNothing) {
  StoreRoute route;
  (void)past_among(route, kApart, 50);
  ASSERT_EQ(route.better(), Way::past);
  const std::uint64_t small = StoreRoute::kLeastBytes - 1;
  for (int i = 0; i < 1'000; ++i) {
    ASSERT_EQ(route.next(small), Way::through);
    route.took(Way::through, small, 1);
  }
  EXPECT_EQ(route.better(), Way::past);
}

}  // namespace
}  // namespace gyre
