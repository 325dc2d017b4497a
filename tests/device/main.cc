#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/device/helper.hpp"

int main(int argc, char** argv) {
  const int status = gyre::test::helper_main(std::vector<std::string>(argv + 1, argv + argc));
  if (status >= 0) return status;
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
