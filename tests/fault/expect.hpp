// What many fault tests expect of a report.
#pragma once

#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/fault/ranks.hpp"

namespace gyre::test {

// nccl.h's codes, which the parent does not include.
inline constexpr int kInvalidArgument = 4;
inline constexpr int kInvalidUsage = 5;
inline constexpr int kRemoteError = 6;
inline constexpr int kInProgress = 7;

// What every end is bounded by: of a call whose peer is gone, of abort and of destroy.
inline constexpr milliseconds kBound{2000};

inline void expect_names(const Report& report, const std::string& rank) {
  EXPECT_TRUE(std::regex_search(report.text, std::regex("rank (" + rank + ")\\b")))
      << "names no rank " << rank << ": " << report.text;
}

// Abort or destroy of a communicator that is broken or whose peers do not answer.
inline void expect_prompt_end(Rank& rank, const std::string& how) {
  const Report ended = rank.ask(how);
  EXPECT_EQ(ended.code, 0) << how << ": " << ended.text;
  EXPECT_LT(ended.took, kBound) << how;
}

// Where the data goes: the parameter of most suites.
struct Place {
  const char* name;
  const Environment& (*environment)();
};

inline std::string place_name(const testing::TestParamInfo<Place>& info) { return info.param.name; }

#define GYRE_EVERYWHERE(Suite) \
  INSTANTIATE_TEST_SUITE_P(    \
      Places, Suite, testing::Values(Place{"shm", shared_memory}, Place{"tcp", tcp}), place_name)

}  // namespace gyre::test
