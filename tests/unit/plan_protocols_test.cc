#include <gtest/gtest.h>

#include "plan/protocols.hpp"

namespace gyre {
namespace {

bool short_form(std::string_view text, CallKind kind = CallKind::all_reduce) {
  const auto allowed = read_short_forms(text);
  EXPECT_TRUE(allowed) << text << ": " << allowed.error().text;
  return allowed && (*allowed)[index_of(kind)];
}

TEST(Protocols, TheShortFormIsLL) {
  EXPECT_TRUE(short_form(""));
  EXPECT_TRUE(short_form("LL"));
  EXPECT_TRUE(short_form("ll,simple"));
  EXPECT_TRUE(short_form("^LL128"));
  EXPECT_FALSE(short_form("Simple"));
  EXPECT_FALSE(short_form("^LL"));
  EXPECT_FALSE(short_form("LL;allreduce:simple"));
  EXPECT_TRUE(short_form("broadcast:simple"));
  EXPECT_FALSE(short_form("broadcast:simple", CallKind::broadcast));
  EXPECT_FALSE(short_form("Simple", CallKind::all_gather));
  EXPECT_FALSE(short_form("Simple", CallKind::all_to_all));
  EXPECT_FALSE(short_form("allreduce:Simple", CallKind::gather));
  EXPECT_FALSE(short_form("LL128;allreduce:LL", CallKind::all_gather));
  EXPECT_TRUE(short_form("allreduce:Simple", CallKind::all_gather));
}

TEST(Protocols, WhatCannotBeIsRefusedByName) {
  for (const auto& [text, named] : {std::pair{"LL129", "\"LL129\""},
                                    {"LL128", "AllReduce"},
                                    {"^LL,Simple", "AllReduce"},
                                    {"allreduse:LL", "\"allreduse\""}}) {
    const auto allowed = read_short_forms(text);
    ASSERT_FALSE(allowed) << text;
    EXPECT_EQ(allowed.status(), Status::invalid_usage);
    EXPECT_NE(allowed.error().text.find("NCCL_PROTO"), std::string::npos);
    EXPECT_NE(allowed.error().text.find(named), std::string::npos) << allowed.error().text;
  }
}

AlgorithmSet limited(std::int64_t least, std::int64_t most) {
  AllowedAlgorithms allowed;
  allowed.fill(kAllAlgorithms);
  limit_channels(least, most, allowed);
  return allowed[index_of(CallKind::all_reduce)];
}

TEST(Protocols, RingsTakeOneChannelOrTwo) {
  const AlgorithmSet one = bit_of(Algorithm::ring), two = bit_of(Algorithm::two_rings);
  EXPECT_EQ(limited(1, 64), kAllAlgorithms);
  EXPECT_EQ(limited(1, 1), kAllAlgorithms & ~two);
  EXPECT_EQ(limited(2, 64), kAllAlgorithms & ~one);
  EXPECT_EQ(limited(16, 32), kAllAlgorithms & ~one);
}

}  // namespace
}  // namespace gyre
