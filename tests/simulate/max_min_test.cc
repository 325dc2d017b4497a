// Rates of flows that share links.
#include "simulate/max_min.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <set>
#include <vector>

namespace gyre::sim {
namespace {

constexpr double kUnbound = std::numeric_limits<double>::infinity();
using Route = std::vector<std::uint32_t>;

// All flows started at once.
std::vector<double> rates_of(const std::vector<double>& capacities,
                             const std::vector<Route>& routes,
                             const std::vector<double>& most = {}) {
  MaxMin shares(capacities);
  for (std::size_t i = 0; i < routes.size(); ++i) {
    shares.start(shares.add_flow(routes[i], most.empty() ? kUnbound : most[i]));
  }
  shares.settle();
  std::vector<double> rates;
  for (std::uint32_t flow = 0; flow < routes.size(); ++flow) rates.push_back(shares.rate(flow));
  return rates;
}

void expect_rates(const std::vector<double>& got, const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    EXPECT_NEAR(got[i], expected[i], 1e-9 * expected[i]) << "flow " << i;
  }
}

TEST(MaxMin, FlowsOfOneLinkGetEqualShares) {
  expect_rates(rates_of({12}, {{0}, {0}, {0}, {0}}), {3, 3, 3, 3});
}

TEST(MaxMin, ALongFlowGetsTheShareOfItsTightestLink) {
  // The textbook's line of two links: one flow along both, others on one each.
  expect_rates(rates_of({10, 4}, {{0}, {0, 1}, {1}, {1}}),
               {10 - 4.0 / 3, 4.0 / 3, 4.0 / 3, 4.0 / 3});
}

TEST(MaxMin, WhatATightLinkLeavesGoesToTheOthers) {
  // Bertsekas and Gallager's kind of example: three rounds of filling.
  expect_rates(rates_of({1, 2, 10}, {{0}, {0, 1}, {1}, {1, 2}, {2}}), {0.5, 0.5, 0.75, 0.75, 9.25});
}

TEST(MaxMin, AFlowsOwnLimitLeavesMoreForOthers) {
  expect_rates(rates_of({12}, {{0}, {0}, {0}}, {2, kUnbound, kUnbound}), {2, 5, 5});
  expect_rates(rates_of({12}, {{0}, {0}, {0}}, {2, 4.5, kUnbound}), {2, 4.5, 5.5});
  expect_rates(rates_of({12}, {{0}, {0}}, {2, 3}), {2, 3});
}

TEST(MaxMin, TellsOnlyWhoseRateChanged) {
  MaxMin shares(std::vector<double>{10, 10});
  const auto a = shares.add_flow(Route{0}, kUnbound);
  const auto b = shares.add_flow(Route{1}, kUnbound);
  const auto c = shares.add_flow(Route{1}, kUnbound);
  shares.start(a);
  shares.start(b);
  EXPECT_EQ(shares.settle().size(), 2U);
  EXPECT_TRUE(shares.settle().empty());
  shares.start(c);
  const auto changed = shares.settle();
  EXPECT_EQ(std::vector<std::uint32_t>(changed.begin(), changed.end()).size(), 2U);
  EXPECT_EQ(std::count(changed.begin(), changed.end(), a), 0);
  shares.stop(c);
  EXPECT_EQ(shares.settle().size(), 1U);
  EXPECT_DOUBLE_EQ(shares.rate(b), 10);
  EXPECT_DOUBLE_EQ(shares.load(1), 10);
}

// The definition: filled in small steps of all flows that still can have more, all anew.
std::vector<double> oracle(const std::vector<double>& capacities, const std::vector<Route>& routes,
                           const std::vector<double>& most, const std::vector<bool>& runs) {
  std::vector<double> rates(routes.size(), 0), left = capacities;
  std::vector<bool> rises = runs;
  while (std::count(rises.begin(), rises.end(), true) != 0) {
    std::vector<int> waiting(capacities.size(), 0);
    for (std::size_t f = 0; f < routes.size(); ++f) {
      for (const std::uint32_t link : routes[f]) waiting[link] += rises[f] ? 1 : 0;
    }
    double step = kUnbound;
    for (std::size_t f = 0; f < routes.size(); ++f) {
      if (rises[f]) step = std::min(step, most[f] - rates[f]);
    }
    for (std::size_t l = 0; l < capacities.size(); ++l) {
      if (waiting[l] != 0) step = std::min(step, left[l] / waiting[l]);
    }
    for (std::size_t f = 0; f < routes.size(); ++f) rates[f] += rises[f] ? step : 0;
    for (std::size_t l = 0; l < capacities.size(); ++l) left[l] -= step * waiting[l];
    for (std::size_t f = 0; f < routes.size(); ++f) {
      bool stays = rates[f] >= most[f] * (1 - 1e-12);
      for (const std::uint32_t l : routes[f]) stays = stays || left[l] <= 1e-12 * capacities[l];
      if (stays) rises[f] = false;
    }
  }
  return rates;
}

// Whatever comes and goes, the rates are those of the definition, though only a part is found anew.
TEST(MaxMin, AgreesWithTheDefinitionAfterAnyChanges) {
  constexpr unsigned kSeed = 20260;
  SCOPED_TRACE(testing::Message() << "seed " << kSeed);
  std::mt19937 random(kSeed);
  const auto below = [&](std::uint32_t n) { return static_cast<std::uint32_t>(random() % n); };
  for (int round = 0; round < 60; ++round) {
    const std::uint32_t links = 1 + below(12), flows = 1 + below(30);
    std::vector<double> capacities, most;
    for (std::uint32_t l = 0; l < links; ++l) capacities.push_back(1 + below(round % 2 ? 4 : 1000));
    MaxMin shares(capacities);
    std::vector<Route> routes;
    for (std::uint32_t f = 0; f < flows; ++f) {
      Route route;
      for (std::uint32_t l = 0; l < links; ++l) {
        if (below(links) < 2) route.push_back(l);
      }
      if (route.empty()) route.push_back(below(links));
      most.push_back(below(3) == 0 ? kUnbound : 0.5 + below(8));
      routes.push_back(route);
      shares.add_flow(route, most.back());
    }
    std::vector<bool> runs(flows, false);
    for (std::uint32_t change = 0; change < 60; ++change) {
      // Several of one instant; some go and come back.
      std::set<std::uint32_t> chosen;
      while (chosen.size() < 1 + change % std::min(3U, flows)) chosen.insert(below(flows));
      for (const std::uint32_t flow : chosen) {
        const bool returns = runs[flow] && below(4) == 0;
        if (runs[flow]) shares.stop(flow);
        if (!runs[flow] || returns) shares.start(flow);
        if (!returns) runs[flow] = !runs[flow];
      }
      shares.settle();
      const auto expected = oracle(capacities, routes, most, runs);
      for (std::uint32_t f = 0; f < flows; ++f) {
        ASSERT_NEAR(shares.rate(f), expected[f], 1e-9 * (1 + expected[f]))
            << "round " << round << ", change " << change << ", flow " << f;
      }
      for (std::uint32_t l = 0; l < links; ++l) {
        ASSERT_LE(shares.peak(l), capacities[l] * (1 + 1e-9)) << "link " << l;
      }
    }
  }
}

}  // namespace
}  // namespace gyre::sim
