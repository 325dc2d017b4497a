// The parts of `gyre run` that need no process.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tools/gyre/binding.hpp"
#include "tools/gyre/chart.hpp"
#include "tools/gyre/line_prefixer.hpp"
#include "tools/gyre/plot_command.hpp"
#include "tools/gyre/rank_environment.hpp"

namespace gyre::tools {
namespace {

TEST(LinePrefixer, PassesOnlyWholeLines) {
  LinePrefixer lines("[3] ");
  EXPECT_EQ(lines.feed("one\ntw"), "[3] one\n");
  EXPECT_EQ(lines.feed(""), "");
  EXPECT_EQ(lines.feed("o\n\nthree"), "[3] two\n[3] \n");
  EXPECT_EQ(lines.finish(), "[3] three\n");
  EXPECT_EQ(lines.finish(), "");
}

TEST(LinePrefixer, KeepsBytesThatAreNoText) {
  LinePrefixer lines("");
  const std::string bytes("\0\xff\r\n", 4);
  EXPECT_EQ(lines.feed(bytes), bytes);
}

TEST(LinePrefixer, CutsALineThatNeverEnds) {
  LinePrefixer lines("> ");
  const std::string endless(LinePrefixer::kLongestLine + 5, 'x');
  EXPECT_EQ(lines.feed(endless), "> " + endless.substr(5) + '\n');
  EXPECT_EQ(lines.finish(), "> xxxxx\n");
}

TEST(LinePrefixer, AnySplitGivesTheSameText) {
  const std::string text = "a\nbc\n\nlast";
  for (std::size_t cut = 0; cut <= text.size(); ++cut) {
    LinePrefixer lines("#");
    std::string got = lines.feed(text.substr(0, cut));
    got += lines.feed(text.substr(cut));
    got += lines.finish();
    EXPECT_EQ(got, "#a\n#bc\n#\n#last\n") << "cut at " << cut;
  }
}

TEST(RankEnvironment, ALaterValueReplacesAnEarlierOneInPlace) {
  const std::vector<std::string> inherited = {"A=1", "RANK=9", "OMP_NUM_THREADS=4"};
  const std::vector<std::string> extra = {"A=2", "MASTER_ADDR=::1"};
  const auto variables = rank_environment(inherited, Job{2, 1234, "id"}, 1, extra);
  EXPECT_EQ(variables[0], "A=2");
  EXPECT_EQ(variables[1], "RANK=1");
  EXPECT_EQ(variables[2], "OMP_NUM_THREADS=4");
  for (const std::string name : {"A=", "RANK=", "MASTER_ADDR=", "OMP_NUM_THREADS="}) {
    EXPECT_EQ(std::count_if(variables.begin(), variables.end(),
                            [&](const auto& variable) { return variable.starts_with(name); }),
              1)
        << name;
  }
}

TEST(Job, TwoJobsDiffer) {
  const auto first = create_job(2), second = create_job(2);
  ASSERT_TRUE(first && second);
  EXPECT_NE(first->id, second->id);
  EXPECT_EQ(first->id.size(), 32U);
  EXPECT_NE(first->port, 0);
}

TEST(Binding, TakesTheUsableCoresInTurn) {
  const std::vector<int> cores{4, 6};
  EXPECT_EQ(core_of(Binding::core, 0, cores), 4);
  EXPECT_EQ(core_of(Binding::core, 3, cores), 6);
  EXPECT_EQ(core_of(Binding::none, 3, cores), -1);
  EXPECT_EQ(core_of(Binding::core, 3, {}), -1);
}

TEST(Binding, UsesASecondThreadOfACoreOnlyWhenEveryCoreHasARank) {
  std::string root = ::testing::TempDir() + "cpuXXXXXX";
  ASSERT_NE(::mkdtemp(root.data()), nullptr);
  const std::vector<std::string> siblings = {"0-1", "0-1", "2,4", "3", "2,4"};
  for (std::size_t cpu = 0; cpu < siblings.size(); ++cpu) {
    const std::string folder = root + "/cpu" + std::to_string(cpu) + "/topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder + "/thread_siblings_list") << siblings[cpu] << '\n';
  }
  EXPECT_EQ(cores_first({0, 1, 2, 3, 4}, root), (std::vector<int>{0, 2, 3, 1, 4}));
  // A core of which only a later thread may be used; a CPU that sysfs does not know.
  EXPECT_EQ(cores_first({1, 4, 9}, root), (std::vector<int>{1, 4, 9}));
  std::filesystem::remove_all(root);
}

TEST(Chart, TicksAreRoundAndInside) {
  EXPECT_EQ(decimal_ticks(0.4, 6), (std::vector<double>{0.5, 1, 2, 5}));
  EXPECT_EQ(decimal_ticks(0.5, 5000), (std::vector<double>{1, 10, 100, 1000}));
  EXPECT_EQ(binary_ticks(16, 256, 9), (std::vector<double>{16, 32, 64, 128, 256}));
  EXPECT_LE(binary_ticks(1, 1 << 30, 7).size(), 7U);
  EXPECT_EQ(bytes_text(64), "64");
  EXPECT_EQ(bytes_text(1 << 20), "1M");
}

TEST(Chart, OneColourForANameInEveryPanelAndNoMarkupFromNames) {
  const std::vector<Panel> panels{{"a<b", "y", {{"one", {{1, 1}, {4, 4}}}}},
                                  {"c", "y", {{"two", {{1, 2}}}, {"one", {{1, 3}}}}}};
  const std::string svg = chart_svg(panels, "h & i");
  EXPECT_NE(svg.find("a&lt;b"), svg.npos);
  EXPECT_NE(svg.find("h &amp; i"), svg.npos);
  EXPECT_EQ(svg.find("nan"), svg.npos);
  // The legend names each once.
  EXPECT_EQ(svg.find(">one<"), svg.rfind(">one<"));
}

constexpr const char* kComparison = R"({"machine": {"processor": "P", "cores": 2, "date": "D"},
  "rows": [{"collective": "all_reduce", "ranks": 2, "transport": "shm", "bytes": 16,
            "floor_us": 0.5, "libraries": {"gyre": {"time_us": 1.0, "bus_gbps": 2.0},
                                           "peer": {"time_us": 0, "bus_gbps": 0}}}]})";

TEST(Plot, DrawsWhatTheFileSays) {
  const auto svg = plot_text(kComparison);
  ASSERT_TRUE(svg) << svg.error().text;
  EXPECT_NE(svg->find("all_reduce, 2 ranks, shm"), std::string::npos);
  EXPECT_NE(svg->find("limit of the machine"), std::string::npos);
}

TEST(Plot, RefusesOtherFiles) {
  for (const char* text : {"", "[]", "{}", R"({"rows": []})", R"({"rows": [{"bytes": "x"}]})"}) {
    EXPECT_FALSE(plot_text(text)) << text;
  }
}

}  // namespace
}  // namespace gyre::tools
