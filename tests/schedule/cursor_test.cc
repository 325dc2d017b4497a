#include "schedule/cursor.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "schedule/builder.hpp"

namespace gyre {
namespace {

std::vector<std::uint32_t> list(PeerRange range, std::uint32_t self, std::uint32_t world) {
  std::vector<std::uint32_t> peers;
  for (const std::uint32_t peer : peers_of(range, self, world)) peers.push_back(peer);
  EXPECT_EQ(peers.size(), peers_of(range, self, world).size());
  return peers;
}

TEST(PeersOf, LeavesOutTheOwnRankAndWrapsAround) {
  using Ranks = std::vector<std::uint32_t>;
  EXPECT_EQ(list({0, 4}, 2, 4), (Ranks{0, 1, 3}));
  EXPECT_EQ(list({0, 4}, 0, 4), (Ranks{1, 2, 3}));
  EXPECT_EQ(list({0, 4}, 3, 4), (Ranks{0, 1, 2}));
  EXPECT_EQ(list({3, 3}, 2, 5), (Ranks{3, 4, 0}));
  EXPECT_EQ(list({3, 3}, 4, 5), (Ranks{3, 0}));
  EXPECT_EQ(list({2, 1}, 2, 5), (Ranks{}));
  EXPECT_EQ(list({2, 0}, 1, 5), (Ranks{}));
  EXPECT_EQ(list({0, 1}, 0, 1), (Ranks{}));
}

TEST(Cursor, RepeatsLoopsAndAdvancesModuloEachSide) {
  const Program program =
      Builder(0, 4, 3, 5)
          .loop(3, send(In{2, 1}, To{3, 1}), recv_store(From{1, -1}, Out{1, -1}))
          .loop(1, copy(In{0}, Out{0}))
          .program();
  Cursor at(program, 0, 1);
  const std::int32_t sources[] = {2, 0, 1}, targets[] = {1, 0, 4};
  const std::uint16_t to[] = {3, 0, 1}, from[] = {1, 0, 3};
  for (int trip = 0; trip < 3; ++trip) {
    ASSERT_FALSE(at.done());
    EXPECT_EQ(at.current().source, sources[trip]);
    EXPECT_EQ(at.current().target, kNoChunk);
    EXPECT_EQ(at.current().send.first, to[trip]);
    EXPECT_EQ(at.current().receive.count, 0);
    at.next();
    EXPECT_EQ(at.current().target, targets[trip]);
    EXPECT_EQ(at.current().source, kNoChunk);
    EXPECT_EQ(at.current().receive.first, from[trip]);
    EXPECT_EQ(at.current().send.count, 0);
    at.next();
  }
  EXPECT_EQ(at.current().source, 0);
  at.next();
  EXPECT_TRUE(at.done());
}

TEST(Cursor, LagsWorkOnEarlierTilesAndAreSkippedOutsideThem) {
  const Program program = Builder(0, 2)
                              .lagged_loop(1, 0, send(In{0}, To{1}))
                              .lagged_loop(1, 2, recv_store(From{1}, Out{0}))
                              .program();
  std::vector<std::pair<char, std::uint64_t>> seen;
  for (Cursor at(program, 0, 3); !at.done(); at.next()) {
    seen.emplace_back(at.current().send.count != 0 ? 's' : 'r', at.current().tile);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<char, std::uint64_t>>{
                      {'s', 0}, {'s', 1}, {'s', 2}, {'r', 0}, {'r', 1}, {'r', 2}}));
  seen.clear();
  for (Cursor at(program, 0, 1); !at.done(); at.next()) {
    seen.emplace_back(at.current().send.count != 0 ? 's' : 'r', at.current().tile);
  }
  EXPECT_EQ(seen, (std::vector<std::pair<char, std::uint64_t>>{{'s', 0}, {'r', 0}}));
}

TEST(Cursor, HasNothingToDoWithoutTilesOrLoops) {
  EXPECT_TRUE(Cursor(Builder(0, 2).loop(1, copy(In{0}, Out{0})).program(), 0, 0).done());
  EXPECT_TRUE(Cursor(Builder(0, 2).program(), 0, 5).done());
  EXPECT_TRUE(Cursor(Builder(0, 2).loop(0, copy(In{0}, Out{0})).program(), 0, 5).done());
}

TEST(Cursor, HandlesAdvancesOfAnySize) {
  Program program = Builder(0, 7, 1, 1).loop(1000, send(In{0}, To{3, -32'768})).program();
  std::int64_t first = 3;
  for (Cursor at(program, 0, 1); !at.done(); at.next(), first -= 32'768) {
    ASSERT_EQ(at.current().send.first, ((first % 7) + 7) % 7) << "trip " << at.trip();
  }
}

TEST(PeersOf, Strides) {
  EXPECT_EQ(list({4, 2, 3}, 0, 5), (std::vector<std::uint32_t>{4, 2}));
  EXPECT_TRUE((PeerRange{4, 2, 3}).covers(2, 5));
  EXPECT_FALSE((PeerRange{4, 2, 3}).covers(0, 5));
}

TEST(Cursor, HalvesAndDoublesInRounds) {
  const Program program = Builder(2, 7, 7, 7)
                              .loop(halving(7), send(far(In{2}), to_above(2)))
                              .loop(doubling(7), recv_store(from_below(2), near(Out{2})))
                              .loop(doubling(4), send(In{0}, to_across(2)))
                              .program();
  Cursor at(program, 0, 1);
  const std::uint32_t distances[] = {4, 2, 1}, chunks[] = {3, 2, 1};
  for (int trip = 0; trip < 3; ++trip, at.next()) {
    EXPECT_EQ(at.current().send.first, (2 + distances[trip]) % 7);
    EXPECT_EQ(at.current().source, static_cast<std::int32_t>((2 + distances[trip]) % 7));
    EXPECT_EQ(at.current().chunks, chunks[trip]);
  }
  for (int trip = 0; trip < 3; ++trip, at.next()) {
    EXPECT_EQ(at.current().receive.first, (2 + 7 - distances[2 - trip]) % 7);
    EXPECT_EQ(at.current().target, 2);
    EXPECT_EQ(at.current().chunks, chunks[2 - trip]);
  }
  EXPECT_EQ(at.current().send.first, 3);
  at.next();
  EXPECT_EQ(at.current().send.first, 0);
  at.next();
  EXPECT_TRUE(at.done());
}

TEST(Cursor, CountsTilesBeyond32Bits) {
  constexpr std::uint64_t kTiles = std::uint64_t{1} << 40;
  static constexpr Program kProgram = Builder(0, 2).loop(1, send(In{0}, To{1})).program();
  static_assert(!Cursor(kProgram, 0, kTiles).done(), "decodes at compile time");
  Cursor at(kProgram, 0, kTiles);
  at.next();
  EXPECT_EQ(at.current().tile, 1U);
  EXPECT_FALSE(at.done());
}

TEST(Builder, RefusesWhatDoesNotFit) {
  Builder builder(0, 2);
  for (int i = 0; i <= kMaxLoops; ++i) builder.loop(1, copy(In{0}, Out{0}));
  EXPECT_EQ(builder.program().strand_count, 0);
}

}  // namespace
}  // namespace gyre
