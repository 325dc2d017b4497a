#include <gtest/gtest.h>
#include <sys/prctl.h>

#include <csignal>
#include <cstdlib>
#include <string_view>

#include "tests/fault/puppet.hpp"

int main(int argc, char** argv) {
  if (argc == 4 && std::string_view(argv[1]) == "--puppet") {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    return gyre::test::puppet_main(std::atoi(argv[2]), std::atoi(argv[3]));
  }
  // A rank that is gone shows in the report that does not come.
  std::signal(SIGPIPE, SIG_IGN);
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
