// The parts of `gyre run` that need no process.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/gyre/line_prefixer.hpp"
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

}  // namespace
}  // namespace gyre::tools
