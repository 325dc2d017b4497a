#include "schedule/layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace gyre {
namespace {

constexpr std::uint64_t kHuge = (std::uint64_t{1} << 33) + 12'345;

// Every element of `count` is in exactly one chunk of one tile.
void expect_partition(const Layout& layout, std::uint64_t count) {
  std::vector<int> covered(count);
  for (std::uint64_t tile = 0; tile < layout.tiles(); ++tile) {
    for (std::uint64_t chunk = 0; chunk < layout.chunks; ++chunk) {
      const Extent extent = layout.extent(tile, chunk);
      ASSERT_LE(extent.count, layout.slice);
      ASSERT_LE(extent.offset + extent.count, count);
      for (std::uint64_t i = 0; i < extent.count; ++i) ++covered[extent.offset + i];
    }
  }
  for (std::uint64_t i = 0; i < count; ++i) ASSERT_EQ(covered[i], 1) << "element " << i;
}

TEST(Layout, TiledCutsTheBufferOnce) {
  for (const std::uint32_t chunks : {1U, 2U, 3U, 8U}) {
    for (const std::uint64_t slice : {1U, 3U, 16U}) {
      for (const std::uint64_t count : {0U, 1U, 2U, 7U, 47U, 48U, 49U, 200U}) {
        expect_partition(
            {.kind = Layout::Kind::tiled, .chunks = chunks, .count = count, .slice = slice}, count);
      }
    }
  }
}

TEST(Layout, PartedCutsTheBufferOnceAndKeepsChunksTogether) {
  for (const std::uint32_t chunks : {1U, 2U, 3U, 8U}) {
    for (const std::uint64_t slices : {1U, 2U, 5U}) {
      // Parts that end before, at and behind the end of the buffer, which may leave some empty.
      for (const std::uint64_t count : {0U, 1U, 2U, 7U, 47U, 48U, 49U, 200U}) {
        const std::uint64_t slice = std::max<std::uint64_t>(1, count / (chunks * slices) + 1);
        const Layout layout{.kind = Layout::Kind::parted,
                            .chunks = chunks,
                            .count = count,
                            .stride = slice * slices,
                            .slice = slice};
        expect_partition(layout, count);
        EXPECT_EQ(layout.end(), count);
      }
    }
  }
  const Layout layout{
      .kind = Layout::Kind::parted, .chunks = 3, .count = 50, .stride = 20, .slice = 8};
  EXPECT_EQ(layout.tiles(), 3U);
  EXPECT_EQ(layout.extent(1, 1).offset, 28U);
  EXPECT_EQ(layout.extent(2, 1).count, 4U);
  EXPECT_EQ(layout.extent(1, 2).count, 2U);  // 48 and 49
  EXPECT_EQ(layout.extent(2, 2).count, 0U);
}

TEST(Layout, BlockedCutsEveryBlockOnce) {
  for (const std::uint32_t chunks : {1U, 2U, 3U, 8U}) {
    for (const std::uint64_t count : {0U, 1U, 7U, 48U, 49U}) {
      expect_partition({.kind = Layout::Kind::blocked,
                        .chunks = chunks,
                        .count = count,
                        .stride = count,
                        .slice = 16},
                       chunks * count);
    }
  }
}

TEST(Layout, TableHasACountPerBlockAndEmptyOnesAreEmpty) {
  const std::uint64_t offsets[] = {5, 0, 25, 4}, counts[] = {20, 4, 0, 1};
  const Layout layout{
      .kind = Layout::Kind::table, .chunks = 4, .slice = 8, .offsets = offsets, .counts = counts};
  EXPECT_EQ(layout.tiles(), 3U);
  EXPECT_EQ(layout.extent(2, 0).offset, 21U);
  EXPECT_EQ(layout.extent(2, 0).count, 4U);
  EXPECT_EQ(layout.extent(0, 1).count, 4U);
  EXPECT_EQ(layout.extent(1, 1).count, 0U);
  EXPECT_EQ(layout.extent(0, 2).count, 0U);
  expect_partition(layout, 25);
}

TEST(Layout, AlwaysHasATile) {
  EXPECT_EQ((Layout{.chunks = 4, .count = 0, .slice = 8}.tiles()), 1U);
  EXPECT_EQ((Layout{.chunks = 4, .count = 0, .slice = 8}.extent(0, 3).count), 0U);
}

TEST(Layout, CountsBeyond32Bits) {
  const Layout tiled{.chunks = 3, .count = kHuge, .slice = 1000};
  const std::uint64_t tiles = (kHuge + 2999) / 3000;
  EXPECT_EQ(tiled.tiles(), tiles);
  EXPECT_EQ(tiled.extent(tiles - 1, 0).offset, (tiles - 1) * 3000);
  std::uint64_t total = 0;
  for (std::uint64_t chunk = 0; chunk < 3; ++chunk) total += tiled.extent(tiles - 1, chunk).count;
  EXPECT_EQ(total, kHuge - (tiles - 1) * 3000);

  const Layout blocked{.kind = Layout::Kind::blocked,
                       .chunks = 64,
                       .count = kHuge,
                       .stride = kHuge,
                       .slice = std::uint64_t{1} << 20};
  EXPECT_EQ(blocked.extent(8192, 63).offset, 63 * kHuge + (std::uint64_t{1} << 33));
  EXPECT_EQ(blocked.extent(8192, 63).count, 12'345U);
  EXPECT_EQ(blocked.tiles(), 8193U);
}

TEST(Layout, SlicesBeyond32Bits) {
  const Layout one{.chunks = 2, .count = 3 * kHuge, .slice = 2 * kHuge};
  EXPECT_EQ(one.tiles(), 1U);
  EXPECT_EQ(one.extent(0, 0).count, 2 * kHuge);
  EXPECT_EQ(one.extent(0, 1).offset, 2 * kHuge);
  EXPECT_EQ(one.extent(0, 1).count, kHuge);
}

}  // namespace
}  // namespace gyre
