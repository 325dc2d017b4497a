// How the messages of a group are spread over chains: no group waits for itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <random>
#include <vector>

#include "plan/device_choice.hpp"

namespace gyre {
namespace {

constexpr std::uint32_t kMostRanks = 9;

// A model: every rank has a chain of sends and one of receives for each class, and a message gets
// through when it is the first in its sender's and in its receiver's.
struct Message {
  std::uint32_t from, to;
};
using Messages = std::vector<Message>;

std::uint32_t distance_of(const Message& message, std::uint32_t world) {
  return (message.to + world - message.from) % world;
}

// Which distance goes first: the one that is least here.
using Order = std::uint32_t (*)(std::uint32_t distance);
std::uint32_t nearest(std::uint32_t distance) { return distance; }
std::uint32_t farthest(std::uint32_t distance) { return ~distance; }

// The messages, by number, of each chain; chains by rank and class.
std::vector<std::vector<std::size_t>> chains_of(const Messages& messages, std::uint32_t world,
                                                std::uint32_t classes, std::uint32_t Message::*end,
                                                Order first) {
  std::vector<std::vector<std::size_t>> chains(std::size_t{world} * classes);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::uint32_t of_class = distance_of(messages[i], world) % classes;
    chains[std::size_t{messages[i].*end} * classes + of_class].push_back(i);
  }
  for (auto& chain : chains) {
    std::stable_sort(chain.begin(), chain.end(), [&](std::size_t one, std::size_t other) {
      return first(distance_of(messages[one], world)) < first(distance_of(messages[other], world));
    });
  }
  return chains;
}

// How many messages never get through.
std::size_t stuck(const Messages& messages, std::uint32_t world, std::uint32_t classes,
                  Order receives_first = nearest) {
  auto sends = chains_of(messages, world, classes, &Message::from, nearest);
  auto receives = chains_of(messages, world, classes, &Message::to, receives_first);
  std::size_t left = messages.size();
  for (bool moved = true; moved;) {
    moved = false;
    for (auto& chain : sends) {
      if (chain.empty()) continue;
      const Message& message = messages[chain.front()];
      auto& other =
          receives[std::size_t{message.to} * classes + distance_of(message, world) % classes];
      if (other.front() != chain.front()) continue;
      chain.erase(chain.begin());
      other.erase(other.begin());
      --left;
      moved = true;
    }
  }
  return left;
}

Messages everybody_to_everybody(std::uint32_t world) {
  Messages all;
  for (std::uint32_t from = 0; from < world; ++from) {
    for (std::uint32_t to = 0; to < world; ++to) {
      if (from != to) all.push_back({from, to});
    }
  }
  return all;
}

// In any order, some left out, some more than once.
Messages some_of(const Messages& all, std::mt19937& random) {
  Messages some;
  for (const Message& message : all) {
    const auto times = random() % 4;
    for (std::uint32_t i = 1; i < times; ++i) some.push_back(message);
  }
  std::shuffle(some.begin(), some.end(), random);
  return some;
}

TEST(MessageSpread, HasBlocksForAllChainsAtOnce) {
  for (std::uint32_t world = 1; world <= kMostRanks; ++world) {
    for (std::uint32_t channels = 2; channels <= 32; ++channels) {
      const MessageSpread spread = message_spread(world, {.channels = channels});
      EXPECT_GE(spread.classes, 1U);
      EXPECT_LE(spread.classes, std::max(1U, world - 1));
      EXPECT_GE(spread.channels, 1U);
      EXPECT_LE(2 * spread.classes * spread.channels, channels) << world << " ranks";
    }
  }
}

TEST(MessageSpread, NoGroupWaitsForItself) {
  constexpr unsigned kSeed = 1;
  std::printf("seed %u\n", kSeed);
  std::mt19937 random(kSeed);
  for (std::uint32_t world = 2; world <= kMostRanks; ++world) {
    const Messages all = everybody_to_everybody(world);
    for (std::uint32_t channels = 2; channels <= 32; ++channels) {
      const std::uint32_t classes = message_spread(world, {.channels = channels}).classes;
      EXPECT_EQ(stuck(all, world, classes), 0U) << world << " ranks, " << classes << " classes";
      for (int times = 0; times < 20; ++times) {
        EXPECT_EQ(stuck(some_of(all, random), world, classes), 0U)
            << world << " ranks, " << classes << " classes";
      }
    }
  }
}

// The model notices a group that does.
TEST(MessageSpread, AnotherOrderOfReceivesWouldWait) {
  EXPECT_NE(stuck(everybody_to_everybody(3), 3, 1, farthest), 0U);
}

}  // namespace
}  // namespace gyre
