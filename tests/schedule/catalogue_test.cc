// Every schedule is proved for 1 to 64 ranks, all roots, few and many tiles, out of place and in
// place; what the catalogue publishes is compared with what the proof finds.
#include "collectives/catalogue.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "collectives/pairwise.hpp"
#include "schedule/builder.hpp"
#include "schedule/cursor.hpp"

namespace gyre {
namespace {

constexpr std::uint32_t kLargestWorld = 64;
// Up to here every number of tiles is tried.
constexpr std::uint32_t kLargestSmallWorld = 16;

std::string name_of_entry(const testing::TestParamInfo<CatalogueEntry>& info) {
  return std::string(info.param.algorithm) + "_" + std::string(name_of(info.param.kind));
}

// One way to run an entry.
struct Setting {
  std::uint32_t world = 1, root = 0, ranks_per_host = 1;

  std::string text() const {
    return fmt::format("{} ranks, root {}, {} per host", world, root, ranks_per_host);
  }
};

class Catalogue : public testing::TestWithParam<CatalogueEntry> {
 protected:
  static std::uint32_t roots(std::uint32_t world) { return is_rooted(GetParam().kind) ? world : 1; }

  // All roots, and all numbers of ranks per host.
  static std::vector<Setting> settings_of(std::uint32_t world) {
    std::vector<Setting> settings;
    for (std::uint32_t per_host = 1; per_host <= world; ++per_host) {
      if (world % per_host != 0 || (per_host != 1 && !GetParam().hosts)) continue;
      for (std::uint32_t root = 0; root < roots(world); ++root) {
        settings.push_back({world, root, per_host});
      }
    }
    return settings;
  }
  static std::vector<Program> programs_of(const Setting& at) {
    return gyre::programs_of(GetParam(), at.world, at.root, at.ranks_per_host);
  }
  static CollectiveSpecification specification_of(const Setting& at) {
    return CollectiveSpecification({GetParam().kind, at.world, at.root});
  }
};

bool makes_offers(const std::vector<Program>& programs) {
  return std::any_of(programs.begin(), programs.end(), [](const Program& program) {
    return std::any_of(program.steps, program.steps + program.step_count,
                       [](const Step& step) { return step.offer.exists(); });
  });
}

INSTANTIATE_TEST_SUITE_P(All, Catalogue, testing::ValuesIn(catalogue()), name_of_entry);

void expect_right(const CatalogueEntry& entry, const Setting& at,
                  const std::vector<Program>& programs, const VerifyOptions& options) {
  const auto report =
      verify(programs, CollectiveSpecification({entry.kind, at.world, at.root}), options);
  ASSERT_TRUE(report) << at.text() << ", " << options.tiles << " tiles"
                      << (options.in_place ? ", in place" : "")
                      << (options.placing ? ", placing: " : ": ") << report.error().text;
  ASSERT_TRUE(report->single_producer || !entry.single_producer) << at.text();
  ASSERT_TRUE(report->fixed_order || !entry.fixed_order) << at.text();
  ASSERT_LE(report->run, entry.longest_run(at.world, at.ranks_per_host)) << at.text();
}

TEST_P(Catalogue, IsRightForAllWorldsRootsAndTiles) {
  const CatalogueEntry& entry = GetParam();
  for (std::uint32_t world = 1; world <= kLargestWorld; ++world) {
    for (const Setting& at : settings_of(world)) {
      const std::vector<Program> programs = programs_of(at);
      const std::uint64_t many = many_tiles(programs, entry.min_slots);
      for (const std::uint64_t tiles :
           {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, many}) {
        if (world > kLargestSmallWorld && (tiles == 2 || tiles == 3)) continue;
        for (const int variant : {0, 1, 2, 3}) {
          const bool in_place = (variant & 1) != 0, placing = (variant & 2) == 0;
          if (in_place && !has_in_place(entry.kind)) continue;
          if (!placing && !makes_offers(programs)) continue;
          ASSERT_NO_FATAL_FAILURE(expect_right(entry, at, programs,
                                               {.tiles = tiles,
                                                .slots = entry.min_slots,
                                                .in_place = in_place,
                                                .by_reference = entry.by_reference,
                                                .placing = placing}));
        }
      }
    }
  }
}

TEST_P(Catalogue, PublishesTheFactsThatTheProofFinds) {
  const CatalogueEntry& entry = GetParam();
  std::uint32_t min_slots = 0;
  bool single_producer = true, fixed_order = true, by_reference = true, longest_run = false;
  for (const std::uint32_t world : {1U, 2U, 3U, 4U, 5U, 8U, 12U, 13U, 32U}) {
    for (const Setting& at : settings_of(world)) {
      if (at.root != 0 && at.root != world / 2 && at.root != world - 1) continue;
      const auto programs = programs_of(at);
      const CollectiveSpecification specification = specification_of(at);
      const auto found = find_min_slots(programs, specification, entry.by_reference);
      ASSERT_TRUE(found) << at.text() << ": " << found.error().text;
      min_slots = std::max(min_slots, *found);
      VerifyOptions options{
          .tiles = 4, .slots = entry.min_slots, .by_reference = entry.by_reference};
      const auto report = verify(programs, specification, options);
      ASSERT_TRUE(report) << at.text() << ": " << report.error().text;
      single_producer = single_producer && report->single_producer;
      fixed_order = fixed_order && report->fixed_order;
      longest_run = longest_run || report->run == entry.longest_run(world, at.ranks_per_host);
      options.by_reference = true;
      by_reference = by_reference && verify(programs, specification, options);
      options.in_place = true;
      if (has_in_place(entry.kind)) {
        by_reference = by_reference && verify(programs, specification, options);
      }
    }
  }
  EXPECT_EQ(min_slots, entry.min_slots);
  EXPECT_EQ(single_producer, entry.single_producer);
  EXPECT_EQ(fixed_order, entry.fixed_order);
  EXPECT_EQ(by_reference, entry.by_reference);
  EXPECT_TRUE(longest_run) << "no world has as long a run as is said";
}

// What a proof costs: memory for the lanes, and time for the messages' clocks.
struct Cost {
  std::uint64_t lanes = 0, processes = 0, messages = 0;

  explicit Cost(const std::vector<Program>& programs) {
    for (const Program& program : programs) {
      std::vector<bool> reached(program.world);
      for (std::uint32_t strand = 0; strand < program.strand_count; ++strand, ++processes) {
        for (Cursor at(program, strand, 1); !at.done(); at.next()) {
          for (const auto peer : peers_of(at.current().send, program.rank, program.world)) {
            lanes += reached[peer] ? 0U : 1U;
            reached[peer] = true;
            ++messages;
          }
        }
      }
    }
  }
  bool bearable() const {
    return lanes * processes < 60'000'000 && messages * processes < 3'000'000'000;
  }
};

TEST_P(Catalogue, IsRightBeyondTheExactSets) {
  const CatalogueEntry& entry = GetParam();
  std::string proved;
  for (const std::uint32_t world : {65U, 127U, 256U, 1000U}) {
    const std::uint32_t per_host = entry.hosts && world % 8 == 0 ? 8 : 1;
    const Setting at{world, roots(world) == 1 ? 0 : world / 3, per_host};
    const auto programs = programs_of(at);
    if (!Cost(programs).bearable()) continue;
    const std::uint64_t tiles = world == 1000 ? 1 : 3;
    ASSERT_NO_FATAL_FAILURE(expect_right(
        entry, at, programs,
        {.tiles = tiles, .slots = entry.min_slots, .by_reference = entry.by_reference}));
    proved += fmt::format(" {}", world);
  }
  std::printf("%s %s: proved for%s ranks\n", std::string(entry.algorithm).c_str(),
              std::string(name_of(entry.kind)).c_str(), proved.c_str());
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
