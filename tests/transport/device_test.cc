// What ranks on devices keep of memory: when it is given back, and what is posted of it.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <thread>
#include <vector>

#include "transport/device/board.hpp"
#include "transport/device/leftovers.hpp"

namespace gyre {
namespace {

using namespace std::chrono_literals;

// What the thread of the leftovers has begun is over when this comes back.
bool settled() { return Leftovers::of_process().settle(Deadline::after(0ms)); }

TEST(Leftovers, AreGivenBackInOrderOnceNoKernelRuns) {
  std::atomic<bool> idle = false;
  std::vector<int> given;
  const Leftovers::Watch watch([&] { return idle.load(); });
  Leftovers::of_process().add([&] { given.push_back(1); });
  Leftovers::of_process().add([&] { given.push_back(2); });
  EXPECT_FALSE(settled());
  EXPECT_TRUE(given.empty());
  idle = true;
  EXPECT_TRUE(settled());
  EXPECT_TRUE(settled());
  EXPECT_EQ(given, (std::vector<int>{1, 2}));
}

TEST(Leftovers, WaitForEveryWatchAndForWhatIsToPass) {
  bool given = false;
  std::atomic<bool> passed = false;
  const Leftovers::Watch idle([] { return true; });
  {
    const Leftovers::Watch busy([] { return false; });
    Leftovers::of_process().watch_until([&] { return passed.load(); });
    Leftovers::of_process().add([&] { given = true; });
    EXPECT_FALSE(settled());
  }
  EXPECT_FALSE(settled());
  EXPECT_FALSE(given);
  passed = true;
  EXPECT_TRUE(settled());
  EXPECT_TRUE(given);
}

TEST(Leftovers, AreGivenBackWithoutBeingAskedFor) {
  std::atomic<bool> given = false;
  Leftovers::of_process().add([&] { given = true; });
  const Deadline deadline = Deadline::after(10s);
  while (!given && !deadline.expired()) std::this_thread::sleep_for(1ms);
  EXPECT_TRUE(given);
}

TEST(Leftovers, StayWhileKernelsAreEnqueued) {
  std::atomic<bool> given = false;
  std::thread settling;
  {
    const auto enqueueing = Leftovers::of_process().enqueueing();
    Leftovers::of_process().add([&] { given = true; });
    settling = std::thread([] { (void)settled(); });
    std::this_thread::sleep_for(50ms);  // in which it would be given back
    EXPECT_FALSE(given);
  }
  settling.join();
  EXPECT_TRUE(settled());
  EXPECT_TRUE(given);
}

Posting posting_of(std::uint64_t allocation) {
  Posting posting;
  posting.allocation = allocation;
  posting.base = 0x1000 * allocation;
  posting.bytes = 77;
  posting.handle.bytes[5] = 9;
  posting.sum = posting.right_sum();
  return posting;
}

TEST(Board, FindsWhatIsThereAndWhole) {
  Board board;
  EXPECT_EQ(board.find(3), nullptr);
  *board.free_place() = posting_of(3);
  *board.free_place() = posting_of(4);
  ASSERT_NE(board.find(4), nullptr);
  EXPECT_EQ(board.index_of(*board.find(4)), 1U);
  EXPECT_EQ(board.find(5), nullptr);
  EXPECT_EQ(board.find(0), nullptr);  // no place that is free
}

TEST(Board, SeesAPostingThatIsCutInTwo) {
  const Posting before = posting_of(3);
  const Posting after = posting_of(4);
  for (std::size_t cut = 1; cut < sizeof(Posting); ++cut) {
    Board board;
    std::memcpy(&board.postings[0], &after, sizeof after);
    std::memcpy(reinterpret_cast<char*>(&board.postings[0]) + cut,
                reinterpret_cast<const char*>(&before) + cut, sizeof before - cut);
    const Posting* const found = board.find(4);
    // Equal bytes on both sides of the cut make it whole again.
    if (found != nullptr) {
      EXPECT_EQ(std::memcmp(found, &after, sizeof after), 0) << cut;
    }
  }
}

TEST(Board, IsFullAtLast) {
  Board board;
  std::uint64_t allocation = 0;
  while (Posting* const place = board.free_place()) *place = posting_of(++allocation);
  EXPECT_EQ(allocation, board.postings.size());
  EXPECT_NE(board.find(allocation), nullptr);
}

}  // namespace
}  // namespace gyre
