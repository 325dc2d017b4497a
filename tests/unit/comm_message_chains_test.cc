// A group's messages as chains: each once, in an order that both of its ranks keep.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "comm/message_chains.hpp"

namespace gyre {
namespace {

constexpr DeviceFacts kDevice{.channels = 32, .slot_bytes = 128 << 10, .one_process = true};

Call message(CallKind kind, int peer, std::uint64_t count) {
  Call call;
  call.kind = kind;
  call.type = DataType::float32;
  call.root = peer;
  call.count = count;
  return call;
}

// The works of each chain, in their order.
std::vector<std::vector<device::Work>> followed(const MessageChains& chains) {
  std::vector<std::vector<device::Work>> all(chains.chains());
  for (std::uint32_t chain = 0; chain < chains.chains(); ++chain) {
    for (std::uint32_t at = chain;;) {
      const device::Work& work = chains.works()[at];
      all[chain].push_back(work);
      if (work.next == 0) break;
      EXPECT_GT(work.next, at) << "a chain goes on, and ends";
      at = work.next;
    }
  }
  return all;
}

std::uint32_t distance_of(const device::Work& work, int rank, int world) {
  const int peer = static_cast<int>(work.peer);
  const int ahead = work.strand == 0 ? peer - rank : rank - peer;
  return static_cast<std::uint32_t>((ahead + world) % world);
}

TEST(MessageChains, HoldEveryMessageOnceByDistance) {
  constexpr int kWorld = 7, kRank = 3;
  std::vector<Call> calls;
  for (std::uint64_t round = 1; round <= 3; ++round) {
    for (int peer = 0; peer < kWorld; ++peer) {
      if (peer == kRank) continue;
      calls.push_back(message(CallKind::send, peer, round));
      calls.push_back(message(CallKind::receive, peer, round));
    }
  }
  MessageChains chains(kRank, kWorld, {.channels = 4, .slot_bytes = 4096, .one_process = true});
  chains.arrange(calls, {}, 0);
  ASSERT_EQ(chains.works().size(), calls.size());
  std::multiset<std::uint32_t> seen;
  for (const auto& chain : followed(chains)) {
    std::uint32_t farthest = 0;
    std::map<std::uint32_t, std::uint64_t> latest;  // by peer: the round
    for (const device::Work& work : chain) {
      EXPECT_EQ(work.strand, chain.front().strand) << "sends and receives are apart";
      const std::uint32_t distance = distance_of(work, kRank, kWorld);
      EXPECT_GE(distance, farthest);
      farthest = distance;
      EXPECT_EQ(work.input_layout.count, ++latest[work.peer]) << "one pair's go in order";
      seen.insert(2 * work.peer + work.strand);
    }
  }
  EXPECT_EQ(seen.size(), calls.size());
  for (const std::uint32_t one : seen) EXPECT_EQ(seen.count(one), 3U);
}

TEST(MessageChains, FewOfThemNeedNoMemoryOfTheHost) {
  MessageChains chains(0, 2, kDevice);
  const std::vector<Call> pair = {message(CallKind::send, 1, 2), message(CallKind::receive, 1, 2)};
  chains.arrange(pair, {}, 0);
  EXPECT_EQ(chains.chains(), 2U);
  EXPECT_LE(chains.works().size(), device::kInlineWorks);
}

TEST(MessageChains, SmallMessagesTakeOneBlockBesideLargeOnes) {
  MessageChains chains(0, 3, kDevice);
  const std::vector<Call> calls = {message(CallKind::send, 1, 2),
                                   message(CallKind::send, 2, 4 << 20)};
  chains.arrange(calls, {}, 0);
  ASSERT_EQ(chains.works().size(), 2U);
  const bool small_first = chains.works()[0].peer == 1;
  const device::Work& small = chains.works()[small_first ? 0 : 1];
  const device::Work& large = chains.works()[small_first ? 1 : 0];
  EXPECT_EQ(small.channels, 1U);
  EXPECT_GT(large.channels, 1U);
  EXPECT_EQ(chains.channels(), large.channels);
  chains.arrange(std::span(calls).first(1), {}, 0);
  EXPECT_EQ(chains.channels(), 1U);
}

TEST(MessageChains, AreUsedAgain) {
  MessageChains chains(0, 2, kDevice);
  const std::vector<Call> one = {message(CallKind::send, 1, 2)};
  chains.arrange(one, {}, 0);
  chains.arrange(one, {.value = 77}, 5);
  ASSERT_EQ(chains.works().size(), 1U);
  EXPECT_EQ(chains.works()[0].tag, 77U);
  EXPECT_EQ(chains.works()[0].stamp, CallStamp::of(2, 5).value);
  EXPECT_EQ(chains.works()[0].next, 0U);
}

}  // namespace
}  // namespace gyre
