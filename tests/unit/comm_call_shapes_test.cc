// What a rank's call reads and writes of its buffers.
#include <gtest/gtest.h>

#include "comm/call_shapes.hpp"

namespace gyre {
namespace {

constexpr int kWorld = 3;
constexpr std::uint64_t kCount = 10;

using Extents = std::vector<std::pair<std::uint64_t, std::uint64_t>>;

Extents plain(const std::vector<Extent>& extents) {
  Extents pairs;
  for (const Extent& extent : extents) pairs.emplace_back(extent.offset, extent.count);
  return pairs;
}

struct Wanted {
  CallKind kind;
  int rank;
  Extents input, output;
};

const Extents kNone, kOne = {{0, kCount}}, kAll = {{0, kWorld*kCount}};

TEST(Footprint, IsThatOfTheKindAndTheRole) {
  const Wanted all[] = {
      {CallKind::all_reduce, 1, kOne, kOne},     {CallKind::reduce, 1, kOne, kNone},
      {CallKind::reduce, 0, kOne, kOne},         {CallKind::broadcast, 1, kNone, kOne},
      {CallKind::broadcast, 0, kOne, kOne},      {CallKind::all_gather, 1, kOne, kAll},
      {CallKind::reduce_scatter, 1, kAll, kOne}, {CallKind::all_to_all, 1, kAll, kAll},
      {CallKind::gather, 1, kOne, kNone},        {CallKind::gather, 0, kOne, kAll},
      {CallKind::scatter, 1, kNone, kOne},       {CallKind::scatter, 0, kAll, kOne},
      {CallKind::send, 1, kOne, kNone},          {CallKind::receive, 1, kNone, kOne},
  };
  for (const Wanted& wanted : all) {
    Call call;
    call.kind = wanted.kind;
    call.count = kCount;
    const Footprint print = footprint_of(call, wanted.rank, kWorld);
    EXPECT_EQ(plain(print.input), wanted.input) << name_of(wanted.kind) << wanted.rank;
    EXPECT_EQ(plain(print.output), wanted.output) << name_of(wanted.kind) << wanted.rank;
  }
}

TEST(Footprint, OfCountsPerRankLeavesGapsAlone) {
  const auto blocks = std::make_shared<BlockTable>();
  blocks->send_counts = {4, 0, 2};
  blocks->send_offsets = {7, 0, 20};
  blocks->receive_counts = {1, 3, 5};
  blocks->receive_offsets = {30, 2, 10};
  const Extents sent = {{7, 4}, {20, 2}}, received = {{30, 1}, {2, 3}, {10, 5}};
  Call call;
  call.blocks = blocks;

  call.kind = CallKind::all_to_all_v;
  Footprint print = footprint_of(call, 2, kWorld);
  EXPECT_EQ(plain(print.input), sent);
  EXPECT_EQ(plain(print.output), received);
  EXPECT_EQ(Footprint::end(print.input), 22U);
  EXPECT_EQ(Footprint::end(print.output), 31U);

  call.kind = CallKind::all_gather_v;
  print = footprint_of(call, 2, kWorld);
  EXPECT_EQ(plain(print.input), (Extents{{0, 5}}));
  EXPECT_EQ(plain(print.output), received);

  call.kind = CallKind::reduce_scatter_v;
  print = footprint_of(call, 1, kWorld);
  EXPECT_EQ(plain(print.input), sent);
  EXPECT_EQ(plain(print.output), kNone);
}

TEST(Footprint, OfNothingIsEmpty) {
  Call call;
  const Footprint print = footprint_of(call, 0, kWorld);
  EXPECT_TRUE(print.input.empty() && print.output.empty());
  EXPECT_EQ(Footprint::end(print.input), 0U);
}

}  // namespace
}  // namespace gyre
