// The command line of the *_perf programs: what nccl-tests users type must mean the same here.
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "bench/harness/failure.hpp"
#include "bench/harness/options.hpp"
#include "bench/harness/sizes.hpp"
#include "bench/harness/split.hpp"
#include "bench/harness/types.hpp"

namespace gyre::bench {
namespace {

ParsedOptions parse(std::initializer_list<const char*> arguments) {
  std::vector<std::string> texts{"all_reduce_perf"};
  texts.insert(texts.end(), arguments.begin(), arguments.end());
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return parse_options(static_cast<int>(texts.size()), pointers.data());
}

void expect_refused(std::initializer_list<const char*> arguments, const std::string& part) {
  const ParsedOptions parsed = parse(arguments);
  EXPECT_EQ(parsed.action, ParsedOptions::Action::refuse) << part;
  EXPECT_NE(parsed.error.find(part), std::string::npos) << parsed.error;
}

TEST(BenchOptions, DefaultsAreThoseOfNcclTests) {
  const ParsedOptions parsed = parse({});
  ASSERT_EQ(parsed.action, ParsedOptions::Action::run);
  const Options& o = parsed.options;
  EXPECT_EQ(o.min_bytes, 32U << 20);
  EXPECT_EQ(o.max_bytes, 32U << 20);
  EXPECT_EQ(o.iters, 20);
  EXPECT_EQ(o.warmup_iters, 1);
  EXPECT_EQ(o.check, 1);
  EXPECT_EQ(o.type, ncclFloat32);
  EXPECT_EQ(o.op, ncclSum);
  EXPECT_EQ(o.average, Average::mean);
}

TEST(BenchOptions, TakesJoinedAndSeparateValues) {
  const ParsedOptions parsed =
      parse({"-b8", "-e", "1G", "-f2", "-d", "all", "-o", "mulsum", "-r", "all", "-z3", "-c", "0"});
  ASSERT_EQ(parsed.action, ParsedOptions::Action::run) << parsed.error;
  const Options& o = parsed.options;
  EXPECT_EQ(o.min_bytes, 8U);
  EXPECT_EQ(o.max_bytes, std::size_t{1} << 30);
  EXPECT_EQ(o.step_factor, 2U);
  EXPECT_EQ(o.type, kAll);
  EXPECT_EQ(o.op, kMulSum);
  EXPECT_EQ(o.root, kAll);
  EXPECT_EQ(o.blocking, Blocking::outer);
  EXPECT_EQ(o.check, 0);
}

TEST(BenchOptions, TakesLongNames) {
  const ParsedOptions parsed =
      parse({"--minbytes=8", "--maxbytes", "64K", "--stepbytes=1.5K", "--agg_iters=4",
             "--device=host", "--lib", "/x/libnccl.so.2", "--per_iter_timing", "1"});
  ASSERT_EQ(parsed.action, ParsedOptions::Action::run) << parsed.error;
  EXPECT_EQ(parsed.options.min_bytes, 8U);
  EXPECT_EQ(parsed.options.step_bytes, 1536U);
  EXPECT_EQ(parsed.options.agg_iters, 4);
  EXPECT_EQ(parsed.options.device, "host");
  EXPECT_EQ(parsed.options.nccl, "/x/libnccl.so.2");
  EXPECT_TRUE(parsed.options.per_iter_timing);
}

TEST(BenchOptions, FillsATimeAndUsesPlainMemory) {
  const ParsedOptions parsed = parse({"--seconds", "0.25", "--memory_kind", "plain"});
  ASSERT_EQ(parsed.action, ParsedOptions::Action::run) << parsed.error;
  EXPECT_EQ(parsed.options.seconds, 0.25);
  EXPECT_EQ(parsed.options.memory, Memory::plain);
  EXPECT_EQ(parse({}).options.memory, Memory::library);
  expect_refused({"--seconds", "nan"}, "'nan' is not a number");
  expect_refused({"--seconds", "1", "-I", "1"}, "-n");
  expect_refused({"--memory_kind", "huge"}, "'huge'");
  expect_refused({"--memory_kind", "plain", "-R", "2"}, "ncclMemAlloc");
}

TEST(BenchOptions, RefusesByName) {
  expect_refused({"-Q"}, "-Q");
  expect_refused({"--nonsense"}, "--nonsense");
  expect_refused({"-n"}, "-n");
  expect_refused({"-n", "many"}, "--iters");
  expect_refused({"-b", "8Q"}, "--minbytes");
  expect_refused({"-d", "float7"}, "float7");
  expect_refused({"-o", "xor"}, "xor");
  expect_refused({"--device=tpu"}, "tpu");
  expect_refused({"-b", "2M", "-e", "1M"}, "-b");
  expect_refused({"-b", "8", "-e", "64", "-i", "0"}, "-i 0");
  expect_refused({"-b", "0", "-e", "64", "-f", "2"}, "-f");
  expect_refused({"stray"}, "stray");
}

TEST(BenchOptions, RefusesWhatIsNotProvidedAndSaysWhy) {
  expect_refused({"-G", "1"}, "graph");
  expect_refused({"-D", "1"}, "device");
  expect_refused({"-V", "16"}, "-V");
  EXPECT_EQ(parse({"-G", "0", "-D", "0"}).action, ParsedOptions::Action::run);
}

TEST(BenchOptions, NotesWhatItChanges) {
  const ParsedOptions parsed = parse({"-n", "4", "-I", "1", "-K", "4"});
  ASSERT_EQ(parsed.action, ParsedOptions::Action::run);
  EXPECT_EQ(parsed.options.per_iter_skip, 0);
  EXPECT_EQ(parsed.notes.size(), 1U);
}

TEST(BenchOptions, HelpNamesEveryFlag) {
  EXPECT_EQ(parse({"--help"}).action, ParsedOptions::Action::help);
  const std::string text = usage_text("x_perf");
  for (const char* flag : {"-b,--minbytes", "-J,--output_file", "--device", "--lib"}) {
    EXPECT_NE(text.find(flag), std::string::npos) << flag;
  }
}

TEST(BenchSizes, ParsesUnitsOf1024) {
  EXPECT_EQ(parse_size("0"), 0U);
  EXPECT_EQ(parse_size("8k"), 8192U);
  EXPECT_EQ(parse_size("1.5M"), 1572864U);
  EXPECT_EQ(parse_size("4GB"), std::size_t{4} << 30);
  for (const char* bad : {"", "K", "-1", "8X", "8KX", "nan", "1e300"}) {
    EXPECT_FALSE(parse_size(bad)) << bad;
  }
}

TEST(BenchSizes, SweepEndsAndNeverOverflows) {
  const Sweep factor{8, 100, 0, 2};
  EXPECT_EQ(factor.next(8), 16U);
  EXPECT_EQ(factor.next(32), 64U);
  EXPECT_FALSE(factor.next(64));
  const std::size_t most = ~std::size_t{0};
  EXPECT_FALSE((Sweep{1, most, 0, 4}.next(most / 2)));
  EXPECT_FALSE((Sweep{1, most, most / 2, 1}.next(most - 1)));
  EXPECT_EQ((Sweep{8, 24, 8, 1}.next(16)), 24U);
  EXPECT_FALSE((Sweep{8, 24, 8, 1}.next(24)));
}

TEST(BenchSplit, ColoursByRule) {
  EXPECT_EQ(split_colour(6, "", ""), 0);
  EXPECT_EQ(split_colour(6, "3", ""), 2);
  EXPECT_EQ(split_colour(6, "", "AND 0x3"), 2);
  EXPECT_EQ(split_colour(6, "", "&0b11"), 2);
  EXPECT_EQ(split_colour(6, "", "or1"), 7);
  EXPECT_EQ(split_colour(6, "", "MOD 4"), 2);
  EXPECT_EQ(split_colour(6, "", "/2"), 3);
  for (const char* bad : {"XOR 1", "MOD 0", "DIV", "AND x"}) {
    EXPECT_THROW(split_colour(6, "", bad), Failure) << bad;
  }
  EXPECT_THROW(split_colour(6, "xyz", ""), Failure);
}

}  // namespace
}  // namespace gyre::bench
