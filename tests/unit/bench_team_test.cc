// What the measuring threads of all processes make of their figures.
#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/harness/team.hpp"

namespace gyre::bench {
namespace {

// Two processes, the other of which gives what this one gives. An exchange carries 1 MiB, as
// Gyre's.
class TwinProcesses final : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 2; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 2; }
  std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    if (mine.size() > std::size_t{1} << 20) throw std::length_error("too many bytes");
    std::vector<std::byte> all(mine.begin(), mine.end());
    all.insert(all.end(), mine.begin(), mine.end());
    return all;
  }
  void barrier() override {}
};

TEST(BenchTeam, TimesOfMoreIterationsThanAnExchangeCarries) {
  TwinProcesses processes;
  Team team(processes, 2);
  constexpr std::size_t kIterations = 300'001;
  // The larger time is now one thread's, now the other's.
  const auto times = [](std::size_t thread) {
    std::vector<double> values(kIterations);
    for (std::size_t i = 0; i < kIterations; ++i) {
      values[i] = static_cast<double>(i % 2 == thread ? i : 0);
    }
    return values;
  };
  std::thread other([&] { team.process_maxima(1, times(1)); });
  const auto rows = team.process_maxima(0, times(0));
  other.join();
  ASSERT_EQ(rows.size(), 2U);
  for (const auto& row : rows) {
    ASSERT_EQ(row.size(), kIterations);
    for (std::size_t i = 0; i < kIterations; ++i) ASSERT_EQ(row[i], static_cast<double>(i));
  }
}

TEST(BenchTeam, NoTimesAreNoRows) {
  TwinProcesses processes;
  Team team(processes, 1);
  EXPECT_TRUE(team.process_maxima(0, {}).empty());
  EXPECT_EQ(team.sum(0, 21), 42);
  EXPECT_EQ(team.reduce(0, 1.5, Average::mean), 1.5);
}

}  // namespace
}  // namespace gyre::bench
