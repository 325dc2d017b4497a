// Every schedule is proved for 1 to 64 ranks, all roots, few and many tiles, out of place and in
// place; what the catalogue publishes is compared with what the proof finds.
#include "collectives/catalogue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <string>

#include "collectives/pairwise.hpp"
#include "schedule/builder.hpp"

namespace gyre {
namespace {

constexpr std::uint32_t kLargestWorld = 64;

std::string name_of_entry(const testing::TestParamInfo<CatalogueEntry>& info) {
  return std::string(info.param.algorithm) + "_" + std::string(name_of(info.param.kind));
}

class Catalogue : public testing::TestWithParam<CatalogueEntry> {
 protected:
  static std::uint32_t roots(std::uint32_t world) { return is_rooted(GetParam().kind) ? world : 1; }
};

INSTANTIATE_TEST_SUITE_P(All, Catalogue, testing::ValuesIn(catalogue()), name_of_entry);

TEST_P(Catalogue, IsRightForAllWorldsRootsAndTiles) {
  const CatalogueEntry& entry = GetParam();
  for (std::uint32_t world = entry.min_world; world <= kLargestWorld; ++world) {
    for (std::uint32_t root = 0; root < roots(world); ++root) {
      const std::vector<Program> programs = programs_of(entry, world, root);
      const CollectiveSpecification specification({entry.kind, world, root});
      for (const std::uint64_t tiles : {1U, 2U, 3U, 3 * entry.min_slots + 5}) {
        for (const int variant : {0, 1, 2, 3}) {
          const bool in_place = (variant & 1) != 0, placing = (variant & 2) != 0;
          if (in_place && !has_in_place(entry.kind)) continue;
          const auto report = verify(programs, specification,
                                     {.tiles = tiles,
                                      .slots = entry.min_slots,
                                      .in_place = in_place,
                                      .by_reference = !in_place || entry.reference_in_place,
                                      .placing = placing});
          ASSERT_TRUE(report) << world << " ranks, root " << root << ", " << tiles << " tiles"
                              << (in_place ? ", in place" : "") << (placing ? ", placing: " : ": ")
                              << report.error().text;
          ASSERT_TRUE(report->single_producer || !entry.single_producer) << world << " ranks";
          ASSERT_TRUE(report->fixed_order || !entry.fixed_order) << world << " ranks";
        }
      }
    }
  }
}

TEST_P(Catalogue, PublishesTheFactsThatTheProofFinds) {
  const CatalogueEntry& entry = GetParam();
  std::uint32_t min_slots = 0;
  bool single_producer = true, fixed_order = true, reference_in_place = true;
  for (const std::uint32_t world : {1U, 2U, 3U, 4U, 5U, 8U, 13U, 32U}) {
    for (const std::uint32_t root : {0U, world / 2, world - 1}) {
      const auto programs = programs_of(entry, world, root);
      const CollectiveSpecification specification({entry.kind, world, root});
      const auto found = find_min_slots(programs, specification);
      ASSERT_TRUE(found) << found.error().text;
      min_slots = std::max(min_slots, *found);
      VerifyOptions options{.tiles = 4, .slots = entry.min_slots};
      const auto report = verify(programs, specification, options);
      ASSERT_TRUE(report) << report.error().text;
      single_producer = single_producer && report->single_producer;
      fixed_order = fixed_order && report->fixed_order;
      options.in_place = true;
      if (has_in_place(entry.kind) && !verify(programs, specification, options)) {
        reference_in_place = false;
      }
    }
  }
  EXPECT_EQ(min_slots, entry.min_slots);
  EXPECT_EQ(single_producer, entry.single_producer);
  EXPECT_EQ(fixed_order, entry.fixed_order);
  EXPECT_EQ(reference_in_place, entry.reference_in_place);
}

TEST_P(Catalogue, IsRightBeyondTheExactSets) {
  const CatalogueEntry& entry = GetParam();
  for (const std::uint32_t world : {65U, 100U}) {
    const auto report = verify(entry, world, world / 3, {.tiles = 3, .slots = entry.min_slots});
    ASSERT_TRUE(report) << report.error().text;
  }
}

TEST(CatalogueTable, FindsEntriesByName) {
  ASSERT_NE(find_schedule("ring", CollectiveKind::all_reduce), nullptr);
  EXPECT_EQ(find_schedule("ring", CollectiveKind::all_reduce)->kind, CollectiveKind::all_reduce);
  EXPECT_EQ(find_schedule("ring", CollectiveKind::all_to_all), nullptr);
  for (const CatalogueEntry& entry : catalogue()) {
    EXPECT_EQ(find_schedule(entry.algorithm, entry.kind), &entry) << "a name used twice";
  }
}

TEST(CatalogueTable, RingAllReduceSendsAsLittleAsPossible) {
  const auto report = verify(*find_schedule("ring", CollectiveKind::all_reduce), 8, 0, {});
  ASSERT_TRUE(report);
  EXPECT_EQ(report->steps, 15U);
  EXPECT_EQ(report->sends, 14U);  // of an eighth of the buffer each: 2 (n-1)/n in all
}

TEST(CatalogueTable, ReadmeHoldsTheCurrentTable) {
  std::ifstream file(std::string(GYRE_SOURCE_DIR) + "/collectives/README.md");
  const std::string readme{std::istreambuf_iterator<char>(file), {}};
  const std::string table = catalogue_markdown(8);
  EXPECT_NE(readme.find(table), std::string::npos) << "replace the table by:\n" << table;
}

TEST(Messages, ArriveAtTheirPeer) {
  for (const std::uint64_t tiles : {1U, 2U, 9U}) {
    std::vector<Program> programs;
    for (std::uint32_t rank = 0; rank < 4; ++rank) programs.push_back(Builder(rank, 4).program());
    programs[2] = pairwise::send_to(2, 4, 1);
    programs[1] = pairwise::receive_from(1, 4, 2);
    const CollectiveSpecification message({CollectiveKind::message, 4, 2, 1});
    const auto report = verify(programs, message, {.tiles = tiles, .slots = 1});
    EXPECT_TRUE(report) << report.error().text;
    programs[2] = pairwise::send_to(2, 4, 3);
    EXPECT_FALSE(verify(programs, message, {.tiles = tiles, .slots = 1}));
  }
  const Program alone[] = {pairwise::copy_self(0, 1)};
  EXPECT_TRUE(verify(alone, CollectiveSpecification({CollectiveKind::message, 1, 0, 0}), {}));
}

}  // namespace
}  // namespace gyre
