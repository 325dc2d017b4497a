#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "plan/tuning_table.hpp"

namespace gyre {
namespace {

TEST(TuningTable, IsReadAsItWasWritten) {
  TuningTable table;
  table.add({CallKind::all_reduce, {4, 4, true}, 4096, {Algorithm::one_shot, 0}, 5.25e-6});
  table.add({CallKind::gather, {8, 2, false}, 1 << 20, {Algorithm::binomial, 16 << 10}, 1e-3});
  const auto read = TuningTable::parse(table.text(), "f");
  ASSERT_TRUE(read) << read.error().text;
  ASSERT_EQ(read->rows().size(), 2U);
  const TuningRow& row = read->rows()[1];
  EXPECT_EQ(row.kind, CallKind::gather);
  EXPECT_EQ(row.place, (TuningPlace{8, 2, false}));
  EXPECT_EQ(row.bytes, 1U << 20);
  EXPECT_EQ(row.choice, (Choice{Algorithm::binomial, 16 << 10}));
  EXPECT_NEAR(read->rows()[0].seconds, 5.25e-6, 1e-12);
  EXPECT_EQ(read->of(CallKind::gather, {8, 2, false}).size(), 1U);
  EXPECT_TRUE(read->of(CallKind::gather, {8, 2, true}).empty());
}

TEST(TuningTable, RemarksAndBlanksMeanNothing) {
  const auto read = TuningTable::parse(
      "# mine\n\n  gyre-tuning \t1 # of today\r\n all_reduce 2 2 memory 4K ring - 3 # slow\n", "f");
  ASSERT_TRUE(read) << read.error().text;
  EXPECT_EQ(read->rows().size(), 1U);
  EXPECT_EQ(read->rows()[0].bytes, 4096U);
}

void expect_refused(const std::string& text, std::string_view named) {
  const auto read = TuningTable::parse(text, "table.txt");
  ASSERT_FALSE(read) << text;
  EXPECT_EQ(read.status(), Status::invalid_usage);
  for (const std::string_view part : {std::string_view("tuning table: table.txt"), named}) {
    EXPECT_NE(read.error().text.find(part), std::string::npos) << read.error().text;
  }
}

TEST(TuningTable, WhatIsWrongIsNamedWithItsLine) {
  expect_refused("", "the first line must be");
  expect_refused("gyre-tuning 2\n", "line 1: the first line must be");
  const std::string title = "gyre-tuning 1\n";
  expect_refused(title + "all_reduce 2 2 memory 4K ring -\n", "line 2: a row has 8 fields, not 7");
  expect_refused(title + "all_reduce 2 2 memory 4K ring - 3 4 5\n", "a row has 8 fields");
  expect_refused(title + "all_reduse 2 2 memory 4K ring - 3\n", "\"all_reduse\" is not a coll");
  expect_refused(title + "barrier 2 2 memory 4K dissemination - 3\n", "\"barrier\"");
  expect_refused(title + "all_reduce 0 2 memory 4K ring - 3\n", "\"0\" is not a number of ranks");
  expect_refused(title + "all_reduce 2 3 memory 4K ring - 3\n", "\"3\" is not a number of ranks");
  expect_refused(title + "all_reduce 2 2 wood 4K ring - 3\n", "\"wood\"");
  expect_refused(title + "all_reduce 2 2 memory -4 ring - 3\n", "\"-4\" is not a size");
  expect_refused(title + "all_reduce 2 2 memory 4K bruck - 3\n", "\"bruck\" is not an algorithm");
  expect_refused(title + "all_reduce 2 2 memory 4K ring 3000 3\n", "\"3000\" is not - or");
  for (const char* time : {"nan", "-1", "0", "inf", "1e99", "1e-310", "3x"}) {
    expect_refused(title + "all_reduce 2 2 memory 4K ring - " + time + "\n", "a time in micro");
  }
  expect_refused(title + std::string(17 << 20, ' '), "more than the");
}

TEST(TuningTable, WhatIsNoFileIsNamed) {
  for (const char* path : {"/nowhere/table", "/tmp", "/dev/null", "/dev/zero"}) {
    const auto read = TuningTable::load(path);
    ASSERT_FALSE(read);
    EXPECT_NE(read.error().text.find(path), std::string::npos) << read.error().text;
  }
}

// Nobody writes to it: opening it as a file would wait for ever.
TEST(TuningTable, AFifoIsRefused) {
  const std::string path = ::testing::TempDir() + "tuning.fifo";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  const auto read = TuningTable::load(path);
  ::unlink(path.c_str());
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text.find("no regular file"), std::string::npos) << read.error().text;
}

}  // namespace
}  // namespace gyre
