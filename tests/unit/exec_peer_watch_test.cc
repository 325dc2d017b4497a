// Whom a rank blames for the end of its peers.
#include <gtest/gtest.h>

#include <thread>

#include "exec/peer_watch.hpp"

namespace gyre {
namespace {

using std::chrono::milliseconds;

struct Watched {
  Watched() : bell(*BellEnd::create(&word)), watch({"rank 0", "rank 1", "rank 2"}, bell.rope()) {}
  BellWord word;
  BellEnd bell;
  PeerWatch watch;
};

std::optional<int> blamed_soon(const PeerWatch& watch, int peer) {
  const Deadline deadline = Deadline::after(milliseconds(5000));
  std::optional<int> blamed;
  while (!(blamed = watch.to_blame(peer)) && !deadline.expired()) std::this_thread::yield();
  return blamed;
}

TEST(PeerWatch, BlamesWhoWasLostFirst) {
  Watched one;
  one.watch.lost(2, "was killed");
  one.watch.lost(1, "lost its connection");
  EXPECT_EQ(blamed_soon(one.watch, 1), 2);
  EXPECT_EQ(blamed_soon(one.watch, 2), 2);
}

// What a survivor says of it comes a moment later than its own end.
TEST(PeerWatch, BlamesNobodyForAMoment) {
  Watched one;
  const auto before = Clock::now();
  one.watch.lost(1, "lost its connection");
  EXPECT_EQ(blamed_soon(one.watch, 1), 1);
  EXPECT_GE(Clock::now() - before, milliseconds(20));
}

TEST(PeerWatch, BlamesWhoDestroyedForThatAlone) {
  Watched one;
  one.watch.ended(1);
  EXPECT_EQ(one.watch.to_blame(1), 1);
  one.watch.lost(2, "was killed");
  EXPECT_EQ(one.watch.to_blame(1), 1);
  EXPECT_EQ(blamed_soon(one.watch, 2), 2);
}

}  // namespace
}  // namespace gyre
