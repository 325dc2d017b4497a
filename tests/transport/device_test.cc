// What ranks on devices keep of memory: when it is given back, and what is posted of it.
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "transport/device/board.hpp"
#include "transport/device/leftovers.hpp"

namespace gyre {
namespace {

TEST(Leftovers, AreGivenBackInOrderOnceNoKernelRuns) {
  Leftovers& leftovers = Leftovers::of_process();
  bool idle = false;
  std::vector<int> given;
  const Leftovers::Watch watch([&] { return idle; });
  leftovers.add([&] { given.push_back(1); });
  leftovers.add([&] { given.push_back(2); });
  leftovers.settle();
  EXPECT_TRUE(given.empty());
  idle = true;
  leftovers.settle();
  leftovers.settle();
  EXPECT_EQ(given, (std::vector<int>{1, 2}));
}

TEST(Leftovers, WaitForEveryWatch) {
  Leftovers& leftovers = Leftovers::of_process();
  bool given = false;
  const Leftovers::Watch idle([] { return true; });
  {
    const Leftovers::Watch busy([] { return false; });
    leftovers.add([&] { given = true; });
    leftovers.settle();
    EXPECT_FALSE(given);
  }
  leftovers.settle();
  EXPECT_TRUE(given);
}

// Nobody waits for the other: who gives back comes another time, who enqueues only for the calls
// that give back.
TEST(Leftovers, StayWhileKernelsAreEnqueued) {
  Leftovers& leftovers = Leftovers::of_process();
  std::atomic<bool> given = false;
  leftovers.add([&] { given = true; });
  {
    const auto enqueueing = leftovers.enqueueing();
    std::thread([&] { leftovers.settle(); }).join();
    EXPECT_FALSE(given);
  }
  leftovers.settle();
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
