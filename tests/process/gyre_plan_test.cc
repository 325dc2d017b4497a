#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>

#include "plan/pricing.hpp"
#include "tools/gyre/plan_command.hpp"
#include "tools/gyre/table_file.hpp"
#include "tools/gyre/tune_command.hpp"
#include "tools/gyre/tune_measure.hpp"

namespace gyre::tools {
namespace {

PlanOptions call(std::string collective, std::uint32_t ranks, std::uint64_t bytes) {
  PlanOptions options;
  options.collective = std::move(collective);
  options.ranks = ranks;
  options.bytes = bytes;
  options.host.cores = 4;
  return options;
}

std::string text_of(const PlanOptions& options) {
  const auto text = plan_command(options);
  EXPECT_TRUE(text) << text.error().text;
  return text ? *text : std::string();
}

void expect_refused(const PlanOptions& options, std::string_view named) {
  const auto text = plan_command(options);
  ASSERT_FALSE(text);
  EXPECT_NE(text.error().text.find(named), std::string::npos) << text.error().text;
}

TEST(Plan, ShowsTheChoiceTheOthersTheProgramAndTheVerdict) {
  PlanOptions options = call("AllReduce", 4, 1 << 20);
  options.algorithm = "ring";
  const std::string text = text_of(options);
  for (const char* part : {"# all_reduce of 1M between 4 ranks: one host, 4 cores, memory",
                           ">   ring ", "two_shot", "rank 1 of 4: 4 chunks in, 4 chunks out",
                           "reduce with in[3-k], send to 2", "verified: every contribution once"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  }
}

TEST(Plan, EveryCollectiveForProgramsToo) {
  for (const char* collective : {"all_reduce", "reduce", "broadcast", "all_gather",
                                 "reduce_scatter", "all_to_all", "gather", "scatter"}) {
    PlanOptions options = call(collective, 6, 1 << 20);
    options.json = true;
    const auto json = nlohmann::json::parse(text_of(options));
    EXPECT_EQ(json["collective"], collective);
    EXPECT_LE(json["taken"]["predicted_us"].get<double>() * 0.8,
              json["candidates"][0]["predicted_us"].get<double>());
    EXPECT_EQ(json["verdict"].get<std::string>().substr(0, 8), "verified") << json["verdict"];
    double before = 0;
    for (const auto& one : json["candidates"]) {
      EXPECT_GE(one["predicted_us"].get<double>(), before);
      before = one["predicted_us"];
    }
  }
}

// Init decides for classes of sizes, and so must what is shown.
TEST(Plan, ShowsWhatInitDecides) {
  PlanFacts facts;
  facts.world = facts.ranks_per_host = 3;
  facts.slot_bytes = 128 << 10;
  facts.one_shot_bytes = ~std::uint64_t{0};
  facts.allowed.fill(kAllAlgorithms);
  facts.machine = alike_hosts(1, 3, {4, 0}, true);
  const TuningTable none;
  const Choices choices = Pricing(facts, none).choose();
  for (const std::uint64_t bytes : {1U, 4000U, 16385U, 20000U, 131073U, 3U << 20}) {
    for (const char* collective : {"all_reduce", "scatter", "all_gather"}) {
      PlanOptions options = call(collective, 3, bytes);
      options.json = true;
      const auto json = nlohmann::json::parse(text_of(options));
      const Choice& choice = choices.at(*find_planned(collective), false, size_class(bytes)).choice;
      EXPECT_EQ(json["taken"]["algorithm"], name_of(choice.algorithm)) << collective << bytes;
    }
  }
}

TEST(Plan, MachinesOfManyHosts) {
  PlanOptions options = call("all_reduce", 256, 1 << 30);
  options.synthetic = "32xdgx-h100";
  options.host.cores = 0;
  EXPECT_NE(text_of(options).find("32 hosts with 8 ranks each"), std::string::npos);
  EXPECT_NE(text_of(options).find("hierarchical"), std::string::npos);
  options.ranks = 100;
  expect_refused(options, "spread evenly over 32 hosts");
}

TEST(Plan, OnlySchedulesThatFoldInOrder) {
  PlanOptions options = call("all_reduce", 4, 1 << 20);
  options.fixed_order = true;
  EXPECT_EQ(text_of(options).find("halving_doubling"), std::string::npos);
}

TEST(Plan, BadInputIsNamed) {
  expect_refused(call("all_reduse", 4, 8), "\"all_reduse\" is no collective");
  PlanOptions options = call("broadcast", 4, 8);
  options.root = 4;
  expect_refused(options, "rank 4 cannot be the root");
  options = call("all_reduce", 4, 8);
  options.algorithm = "rung";
  expect_refused(options, "\"rung\"");
  options.algorithm.clear();
  options.tuning = "/nowhere";
  expect_refused(options, "/nowhere");
  options.tuning.clear();
  options.svg = "/nowhere/picture.svg";
  expect_refused(options, "/nowhere/picture.svg");
}

constexpr const char* kReport = R"({"results": [
  {"size": 16, "out_of_place": {"time": 2.5, "nwrong": 0}, "in_place": {"time": 7, "nwrong": 0}},
  {"size": 64, "out_of_place": {"time": 3, "nwrong": 0}, "in_place": {"time": 8, "nwrong": 1}}]})";

TEST(Tune, ReportsAreRead) {
  const auto rows = read_report(CallKind::all_reduce, kReport);
  ASSERT_TRUE(rows) << rows.error().text;
  ASSERT_EQ(rows->size(), 2U);
  EXPECT_EQ((*rows)[1].bytes, 64U);
  EXPECT_DOUBLE_EQ((*rows)[0].seconds, 2.5e-6);
  const auto wrong = read_report(CallKind::broadcast, kReport);
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text.find("1 wrong elements at 64 bytes"), std::string::npos);
  for (const char* odd : {"", "{}", "[1]", R"({"results": [{}]})", R"({"results": 4})"}) {
    EXPECT_FALSE(read_report(CallKind::all_reduce, odd)) << odd;
  }
}

TEST(Tune, TheOldTableStaysUntilTheNewOneIsWhole) {
  const std::string path = ::testing::TempDir() + "table_file_test.txt";
  std::ofstream(path) << "gyre-tuning 1\nall_reduce 4 4 memory 64 star - 1\n";
  auto file = TableFile::open(path);
  ASSERT_TRUE(file) << file.error().text;
  const auto text = [&] {
    std::ifstream in(path);
    return std::string(std::istreambuf_iterator<char>(in), {});
  };
  struct rlimit before {};
  ::getrlimit(RLIMIT_FSIZE, &before);
  const auto handler = ::signal(SIGXFSZ, SIG_IGN);
  const struct rlimit tiny { 64, before.rlim_max };
  ::setrlimit(RLIMIT_FSIZE, &tiny);
  const std::vector<TuningRow> rows(
      10, {CallKind::all_reduce, {2, 2, true}, 64, {Algorithm::ring, 0}, 1e-6});
  const auto written = file->write(rows);
  ::setrlimit(RLIMIT_FSIZE, &before);
  ::signal(SIGXFSZ, handler);
  EXPECT_FALSE(written);
  EXPECT_NE(text().find("4 4 memory 64 star"), std::string::npos) << text();
  ASSERT_TRUE(file->write(rows));
  EXPECT_NE(text().find("4 4 memory 64 star"), std::string::npos) << text();
  EXPECT_NE(text().find("2 2 memory 64 ring"), std::string::npos) << text();
  ::unlink(path.c_str());
}

TEST(Tune, WhereNoTableCanGoIsKnownAtOnce) {
  const std::string garbage = ::testing::TempDir() + "table_file_garbage.txt";
  std::ofstream(garbage) << "garbage\n";
  for (const std::string& path : {std::string("/nowhere/x"), std::string("/tmp"), std::string(),
                                  std::string("/dev/null"), garbage, std::string(300, 'a')}) {
    EXPECT_FALSE(TableFile::open(path)) << path;
  }
  ::unlink(garbage.c_str());
}

TEST(Tune, TheRegretIsOfTheUntunedChoice) {
  const TuningPlace place{4, 4, true};
  std::vector<TuningRow> rows;
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    if (schedule_of(CallKind::all_reduce, algorithm) == nullptr) continue;
    rows.push_back({CallKind::all_reduce, place, 1 << 20, {algorithm, 0}, 3e-3});
  }
  rows.push_back({CallKind::all_reduce, place, 1 << 20, {Algorithm::star, 8 << 10}, 1e-3});
  const auto sizes = tuned_sizes(rows, 2);
  ASSERT_EQ(sizes.size(), 1U);
  EXPECT_EQ(sizes[0].best, (Choice{Algorithm::star, 8 << 10}));
  EXPECT_DOUBLE_EQ(sizes[0].regret(), sizes[0].untuned == sizes[0].best ? 0 : 2);
  EXPECT_TRUE(tuned_sizes({}, 2).empty());
}

}  // namespace
}  // namespace gyre::tools
