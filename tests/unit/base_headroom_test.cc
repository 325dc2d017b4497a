#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "base/headroom.hpp"

namespace gyre {
namespace {

namespace fs = std::filesystem;

class Headroom : public testing::Test {
 protected:
  Headroom() : root_(fs::temp_directory_path() / ("headroom." + std::to_string(::getpid()))) {
    write("proc/meminfo", "MemTotal: 1000 kB\nMemAvailable:    500 kB\n");
  }
  ~Headroom() override { fs::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }
  fs::path root_;
};

TEST_F(Headroom, IsWhatTheMachineHasWithoutGroups) {
  EXPECT_EQ(memory_headroom(root_), 500U << 10);
  write("proc/self/cgroup", "0::/\nnonsense\n3:cpu:/x\n");
  EXPECT_EQ(memory_headroom(root_), 500U << 10);
}

TEST_F(Headroom, IsWhatTheTightestGroupLeaves) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  write("sys/fs/cgroup/job/step/memory.current", "1000\n");
  write("sys/fs/cgroup/job/memory.max", "5000\n");
  write("sys/fs/cgroup/job/memory.current", "1000\n");
  EXPECT_EQ(memory_headroom(root_), 4000U);
  write("sys/fs/cgroup/memory.max", "3000\n");  // of a container
  write("sys/fs/cgroup/memory.current", "1000\n");
  EXPECT_EQ(memory_headroom(root_), 2000U);
}

TEST_F(Headroom, KnowsTheFirstVersion) {
  write("proc/self/cgroup", "9:cpu:/a\n4:cpuset,memory:/a/b\n");
  write("sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "9223372036854771712\n");
  write("sys/fs/cgroup/memory/a/b/memory.usage_in_bytes", "10\n");
  EXPECT_EQ(memory_headroom(root_), 500U << 10);
  write("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "100\n");
  write("sys/fs/cgroup/memory/a/memory.usage_in_bytes", "150\n");
  EXPECT_EQ(memory_headroom(root_), 0U);
}

TEST_F(Headroom, IsNothingWhereNobodySays) {
  EXPECT_EQ(memory_headroom(root_ / "nowhere"), 0U);
  EXPECT_GT(memory_headroom(), 0U);
}

}  // namespace
}  // namespace gyre
