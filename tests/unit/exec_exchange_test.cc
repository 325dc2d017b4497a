#include <gtest/gtest.h>

#include <array>
#include <set>
#include <utility>

#include "exec/exchange.hpp"

namespace gyre {
namespace {

constexpr std::uint32_t kWorld = 5, kRoot = 3;
constexpr std::uint64_t kBytes = 12;

constexpr std::array kKinds = {CallKind::all_reduce, CallKind::reduce_scatter, CallKind::all_gather,
                               CallKind::all_to_all, CallKind::broadcast,      CallKind::reduce,
                               CallKind::gather,     CallKind::scatter};

Exchange exchange(CallKind kind, std::uint32_t rank) {
  Call call;
  call.kind = kind;
  call.root = kRoot;
  return exchange_of(call, kBytes, rank, kWorld);
}

using Messages = std::set<std::pair<std::uint32_t, std::uint32_t>>;  // from, to

TEST(Exchange, WhatIsSentIsReceivedAndNothingElse) {
  for (const CallKind kind : kKinds) {
    ASSERT_TRUE(is_exchange(kind));
    Messages sent, received;
    for (std::uint32_t rank = 0; rank < kWorld; ++rank) {
      const Exchange one = exchange(kind, rank);
      for (const std::uint32_t peer : peers_of(one.to, rank, kWorld)) sent.insert({rank, peer});
      for (const std::uint32_t peer : peers_of(one.from, rank, kWorld)) {
        received.insert({peer, rank});
      }
    }
    EXPECT_EQ(sent, received) << static_cast<int>(kind);
    EXPECT_FALSE(sent.empty());
  }
}

TEST(Exchange, RootedKindsGoToTheRootOrComeFromIt) {
  for (const CallKind kind : {CallKind::reduce, CallKind::gather}) {
    EXPECT_EQ(exchange(kind, kRoot).from.count, kWorld);
    EXPECT_EQ(exchange(kind, kRoot).to.count, 0);
    EXPECT_EQ(exchange(kind, 0).to.first, kRoot);
    EXPECT_EQ(exchange(kind, 0).from.count, 0);
  }
  for (const CallKind kind : {CallKind::broadcast, CallKind::scatter}) {
    EXPECT_EQ(exchange(kind, kRoot).to.count, kWorld);
    EXPECT_EQ(exchange(kind, 0).from.first, kRoot);
  }
}

TEST(Exchange, BlocksLieBehindEachOtherWhereThereIsOneForEachRank) {
  for (const CallKind kind : kKinds) {
    const bool of_input = kind == CallKind::reduce_scatter || kind == CallKind::all_to_all ||
                          kind == CallKind::scatter;
    const bool of_output =
        kind == CallKind::all_gather || kind == CallKind::all_to_all || kind == CallKind::gather;
    EXPECT_EQ(exchange(kind, kRoot).input_stride, of_input ? kBytes : 0);
    EXPECT_EQ(exchange(kind, kRoot).output_stride, of_output ? kBytes : 0);
  }
  // Only the root has the others' blocks.
  EXPECT_EQ(exchange(CallKind::scatter, 0).keeps, false);
  EXPECT_EQ(exchange(CallKind::reduce, 0).folds, false);
  EXPECT_EQ(exchange(CallKind::reduce, kRoot).folds, true);
}

TEST(Exchange, MessagesAndCountsPerRankAreNone) {
  for (const CallKind kind : {CallKind::send, CallKind::receive, CallKind::all_to_all_v,
                              CallKind::all_gather_v, CallKind::reduce_scatter_v}) {
    EXPECT_FALSE(is_exchange(kind));
  }
}

}  // namespace
}  // namespace gyre
