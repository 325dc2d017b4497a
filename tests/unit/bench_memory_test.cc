// How much memory the benches find free: what the kernel would give, not what nobody has touched.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <limits>
#include <string>

#include "bench/harness/memory.hpp"

namespace gyre::bench {
namespace {

constexpr std::int64_t kGiB = std::int64_t{1} << 30;

// The files that available_bytes() reads, in a folder of their own.
class FakeMachine {
 public:
  FakeMachine() { EXPECT_NE(::mkdtemp(root_.data()), nullptr); }
  ~FakeMachine() { std::filesystem::remove_all(root_); }
  FakeMachine(const FakeMachine&) = delete;
  FakeMachine& operator=(const FakeMachine&) = delete;

  void write(const std::string& name, const std::string& text) const {
    std::ofstream(root_ + "/" + name) << text << '\n';
  }
  std::int64_t available() const {
    return available_bytes({.meminfo = root_ + "/meminfo", .cgroup = root_});
  }

 private:
  std::string root_ = ::testing::TempDir() + "memoryXXXXXX";
};

TEST(BenchMemory, TheMachineSaysItself) {
  const FakeMachine machine;
  machine.write("meminfo", "MemTotal: 8388608 kB\nMemAvailable:    3145728 kB\nBuffers: 1 kB");
  EXPECT_EQ(machine.available(), 3 * kGiB);
  machine.write("memory.max", "max");
  machine.write("memory.current", std::to_string(7 * kGiB));
  EXPECT_EQ(machine.available(), 3 * kGiB);
}

TEST(BenchMemory, FilesThatAControlGroupReadAreNotInTheWay) {
  const FakeMachine machine;
  machine.write("memory.max", std::to_string(4 * kGiB));
  machine.write("memory.current", std::to_string(3 * kGiB));
  EXPECT_EQ(machine.available(), kGiB);
  machine.write("memory.stat", "anon 5\nfile 2684354560\ninactive_file 2147483648\nactive_file 9");
  EXPECT_EQ(machine.available(), 3 * kGiB);
  // Numbers read one after the other may not fit together.
  machine.write("memory.stat", "inactive_file " + std::to_string(5 * kGiB));
  EXPECT_EQ(machine.available(), 4 * kGiB);
  machine.write("memory.stat", "inactive_file 0");
  machine.write("memory.current", std::to_string(5 * kGiB));
  EXPECT_EQ(machine.available(), 0);
}

TEST(BenchMemory, NothingIsKnownWithoutFiles) {
  EXPECT_EQ(FakeMachine().available(), std::numeric_limits<std::int64_t>::max());
  EXPECT_GT(available_bytes(), 0);
}

}  // namespace
}  // namespace gyre::bench
