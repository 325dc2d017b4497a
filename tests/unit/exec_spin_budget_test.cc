#include <gtest/gtest.h>

#include "exec/spin_budget.hpp"

namespace gyre {
namespace {

constexpr unsigned kMost = 2000;

void miss(SpinBudget& budget, int times) {
  for (int i = 0; i < times; ++i) {
    (void)budget.next();
    budget.missed();
  }
}

// The share of waits that may spin for long.
int long_waits(SpinBudget& budget, int waits) {
  int found = 0;
  for (int i = 0; i < waits; ++i) {
    if (budget.next() == kMost) ++found;
    budget.missed();
  }
  return found;
}

TEST(SpinBudget, SpinsAsLongAsItMayAtFirst) {
  SpinBudget budget(kMost);
  EXPECT_EQ(budget.next(), kMost);
  miss(budget, 3);
  EXPECT_EQ(budget.next(), kMost);
}

TEST(SpinBudget, HasPlentyUntilManyWaitsInARowWereMissed) {
  SpinBudget budget(kMost);
  miss(budget, 5);
  EXPECT_TRUE(budget.has_plenty(64));
  miss(budget, 100);
  EXPECT_FALSE(budget.has_plenty(64));
  budget.found(20);
  EXPECT_TRUE(budget.has_plenty(64));
  EXPECT_FALSE(SpinBudget(16).has_plenty(64));  // more ranks than cores
}

TEST(SpinBudget, GivesUpAfterManyMissesButForTrials) {
  SpinBudget budget(kMost);
  miss(budget, 100);
  const int found = long_waits(budget, 1000);
  EXPECT_GT(found, 10);
  EXPECT_LT(found, 100);
}

TEST(SpinBudget, OneSuccessBringsTheHopeBack) {
  SpinBudget budget(kMost);
  miss(budget, 100);
  budget.found(10);
  EXPECT_EQ(budget.next(), kMost);
}

TEST(SpinBudget, WhatWasAsGoodAsThereProvesNothing) {
  SpinBudget budget(kMost);
  miss(budget, 100);
  budget.found(1);
  EXPECT_LT(long_waits(budget, 100), 20);
}

TEST(SpinBudget, NeverMoreThanAsked) {
  SpinBudget budget(5);
  miss(budget, 50);
  for (int i = 0; i < 100; ++i) EXPECT_LE(budget.next(), 5U);
}

}  // namespace
}  // namespace gyre
