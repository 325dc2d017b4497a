// Communicators made and ended many times need no more than before, and many ranks live with few
// descriptors or say at once how many they need.
#include <gtest/gtest.h>

#include <regex>
#include <string>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

class Soak : public testing::TestWithParam<Place> {
 protected:
  TestLimit limit_;
};

TEST_P(Soak, ResourcesStayFlat) {
  Ranks ranks(2, GetParam().environment());
  ranks.init();
  // Each checks itself between its 50th round and its last.
  ranks.expect_success(ranks.all(), "lives 200 20000 split", milliseconds(55'000));
}

TEST_P(Soak, ASoftLimitOf64DescriptorsIsRaised) {
  Ranks ranks(16, GetParam().environment());
  ranks.expect_success(ranks.all(), "limit_descriptors 64 0");
  ranks.init();
  ranks.expect_success(ranks.all(), "all_reduce 1000");
  ranks.expect_success(ranks.all(), "destroy");
}

TEST_P(Soak, AHardLimitOf64DescriptorsWorksOrIsRefusedWithTheNumber) {
  Ranks ranks(16, GetParam().environment());
  ranks.expect_success(ranks.all(), "limit_descriptors 64 64");
  const std::vector<Report> reports = ranks.ask(ranks.all(), "init " + ranks.make_id());
  const bool works = reports[0].code == 0;
  for (const Report& report : reports) {
    EXPECT_EQ(report.code == 0, works) << report.text;
    if (works) continue;
    EXPECT_LT(report.took, milliseconds(10'000)) << report.text;
    EXPECT_TRUE(std::regex_search(report.text, std::regex("[0-9]+ .*(descriptors|files)")))
        << report.text;
  }
  if (works) ranks.expect_success(ranks.all(), "all_reduce 1000");
}

GYRE_EVERYWHERE(Soak);

}  // namespace
}  // namespace gyre::test
