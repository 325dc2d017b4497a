#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>
#include <string_view>

#include "tests/transport/harness.hpp"

int main(int argc, char** argv) {
  if (argc == 8 && std::string_view(argv[1]) == "--child") {
    const gyre::test::Kind kind{argv[2], argv[3], std::atoll(argv[4])};
    return gyre::test::child_main(kind, argv[5], std::atoi(argv[6]), argv[7]);
  }
  // Many ranks in one process need more descriptors than the usual soft limit of 1024.
  rlimit files{};
  if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
  }
  testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
