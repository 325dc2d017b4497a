// The parts of `gyre simulate`: its values, rows and pictures.
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "simulate/simulate.hpp"
#include "tools/gyre/ranges.hpp"
#include "tools/gyre/simulate_command.hpp"
#include "tools/gyre/timeline_drawing.hpp"

namespace gyre::tools {
namespace {

TEST(Ranges, OfRanksGoByDoublings) {
  EXPECT_EQ(parse_ranks("8..64"), (std::vector<std::uint32_t>{8, 16, 32, 64}));
  EXPECT_EQ(parse_ranks("6..20"), (std::vector<std::uint32_t>{6, 12, 20}));
  EXPECT_EQ(parse_ranks("2,3,8..16"), (std::vector<std::uint32_t>{2, 3, 8, 16}));
  for (const char* text : {"", "0", "8..", "..8", "9..8", "8,", "x", "70000", "-3"}) {
    EXPECT_FALSE(parse_ranks(text)) << text;
  }
}

TEST(Ranges, OfSizesGoByFourfolds) {
  EXPECT_EQ(parse_sizes("1K..16K"), (std::vector<std::uint64_t>{1024, 4096, 16384}));
  EXPECT_EQ(parse_sizes("1K..1G")->size(), 11U);
  EXPECT_FALSE(parse_sizes("0"));
}

TEST(Ranges, TimesAndRatesHaveUnits) {
  EXPECT_DOUBLE_EQ(*parse_seconds("5us"), 5e-6);
  EXPECT_DOUBLE_EQ(*parse_seconds("1.5ms"), 1.5e-3);
  EXPECT_DOUBLE_EQ(*parse_seconds("0"), 0);
  for (const char* text : {"", "5", "us", "-1us", "5 us", "1h"}) {
    EXPECT_FALSE(parse_seconds(text)) << text;
  }
  EXPECT_DOUBLE_EQ(*parse_rate("25GB/s"), 25e9);
  EXPECT_DOUBLE_EQ(*parse_rate("200Gb/s"), 25e9);
  EXPECT_DOUBLE_EQ(*parse_rate("2MiB"), 2 * 1024.0 * 1024);
  EXPECT_DOUBLE_EQ(*parse_rate("7B/s"), 7);
  for (const char* text : {"", "25", "0GB/s", "GB/s", "25XB/s", "25iB/s", "25G"}) {
    EXPECT_FALSE(parse_rate(text)) << text;
  }
}

SimulateOptions options_of(std::vector<std::uint32_t> ranks, std::vector<std::uint64_t> sizes) {
  SimulateOptions options;
  options.ranks = std::move(ranks);
  options.sizes = std::move(sizes);
  options.hosts.ranks_per_host = 1;
  options.hosts.other_host = {.latency = 5e-6, .seconds_per_byte = 1 / 25e9};
  return options;
}

TEST(Simulate, ARowIsTheClosedForm) {
  const SimulateOptions options = options_of({8}, {64 << 10});
  const auto entry = find_entry(options);
  ASSERT_TRUE(entry);
  const auto row = simulate_row(**entry, 8, 64 << 10, options);
  ASSERT_TRUE(row) << row.error().text;
  EXPECT_NEAR(row->seconds, 14 * (5e-6 + 8192 / 25e9), 1e-12);
  EXPECT_EQ(row->messages, 8 * 14U);
  EXPECT_DOUBLE_EQ(row->bus_bandwidth, row->algorithm_bandwidth * 14 / 8);
  EXPECT_EQ(count_messages(**entry, 8, 64 << 10, options), 8 * 14);
}

TEST(Simulate, NamesWhatThereIs) {
  SimulateOptions options;
  options.algorithm = "tree_of_life";
  auto entry = find_entry(options);
  ASSERT_FALSE(entry);
  EXPECT_NE(entry.error().text.find("one_shot, two_shot"), std::string::npos);
  options.collective = "all_produce";
  entry = find_entry(options);
  ASSERT_FALSE(entry);
  EXPECT_NE(entry.error().text.find("known are all_reduce"), std::string::npos);
}

TEST(Simulate, ATimelineIsOfOneCall) {
  SimulateOptions options = options_of({4, 8}, {1024});
  options.timeline = "/dev/null";
  const auto done = simulate_command(options);
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().text.find("one number of ranks"), std::string::npos);
  options = options_of({4}, {1024});
  options.root = 4;
  EXPECT_FALSE(simulate_command(options));
}

TEST(Simulate, JsonAndPictureHoldEveryRow) {
  const SimulateOptions options = options_of({2, 4, 8}, {1024, 4096});
  std::vector<SimulatedRow> rows;
  for (const std::uint32_t ranks : options.ranks) {
    for (const std::uint64_t bytes : options.sizes) {
      rows.push_back(*simulate_row(**find_entry(options), ranks, bytes, options));
    }
  }
  const auto json = nlohmann::json::parse(simulated_json(rows, options));
  ASSERT_EQ(json.at("rows").size(), 6U);
  EXPECT_EQ(json.at("rows")[5].at("ranks"), 8);
  EXPECT_NEAR(json.at("rows")[0].at("time_us").get<double>(), 2 * (5 + 512 / 25e3), 1e-6);
  EXPECT_DOUBLE_EQ(json.at("machine").at("other_host").at("alpha"), 5e-6);
  const std::string svg = simulated_svg(rows, options);
  EXPECT_NE(svg.find("bus bandwidth over ranks"), std::string::npos);
  EXPECT_NE(svg.find(">8 ranks<"), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
}

Result<std::string> drawing_of(std::uint32_t ranks, std::uint64_t bytes, bool record) {
  const CatalogueEntry& ring = *find_schedule("ring", CollectiveKind::all_reduce);
  const auto program = [&](std::uint32_t rank) { return ring.build(rank, ranks, 0, 1); };
  sim::Hosts hosts;
  hosts.same_host = {.latency = 1e-6, .seconds_per_byte = 1e-10};
  const auto machine = sim::machine_of(hosts, ranks);
  const auto message = sim::message_of(ring.kind, bytes, program(0), 16 << 10);
  const auto timeline = sim::simulate(program, ranks, *machine, message, {.record = record});
  return draw_timeline(*timeline, "a <title>", "a remark");
}

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Timeline, HasABoxForEveryStepAndAnArrowForEveryMessage) {
  const auto svg = drawing_of(4, 64 << 10, true);
  ASSERT_TRUE(svg) << svg.error().text;
  EXPECT_NE(svg->find("a &lt;title>"), std::string::npos);
  EXPECT_NE(svg->find(">rank 3<"), std::string::npos);
  EXPECT_NE(svg->find("28 steps, 24 messages"), std::string::npos);
  // Boxes, and one in each of four legend entries and the background.
  EXPECT_EQ(count_of(*svg, "<rect"), 28U + 4 + 1);
  EXPECT_EQ(svg->find("nan"), std::string::npos);
}

TEST(Timeline, NeedsItsStepsAndRoomForThem) {
  const auto empty = drawing_of(4, 1024, false);
  ASSERT_FALSE(empty);
  EXPECT_NE(empty.error().text.find("Options::record"), std::string::npos);
  const auto crowded = drawing_of(64, 64 << 20, true);
  ASSERT_FALSE(crowded);
  EXPECT_NE(crowded.error().text.find("too many for a picture"), std::string::npos);
}

TEST(Timeline, TicksAreRound) {
  const auto ticks = time_ticks(97e-6, 10);
  EXPECT_DOUBLE_EQ(ticks[1], 10e-6);
  EXPECT_EQ(ticks.size(), 10U);
  EXPECT_EQ(time_ticks(1, 10).size(), 11U);
}

}  // namespace
}  // namespace gyre::tools
