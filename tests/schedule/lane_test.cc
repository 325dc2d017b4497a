// What a receiver may do with a slot while its sender takes it back.
#include "schedule/lane.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <optional>
#include <thread>

namespace gyre {
namespace {

class Lane {
 public:
  Lane() {
    const LaneView view = LaneView::at(memory_.data(), 1, 64);
    sender = LaneSender(view);
    receiver = LaneReceiver(view);
  }
  Lane(const Lane&) = delete;
  Lane& operator=(const Lane&) = delete;
  void post_reference() {
    sender.header().kind = SlotKind::address;
    sender.post();
  }

  LaneSender sender;
  LaneReceiver receiver;

 private:
  alignas(64) std::array<std::byte, LaneView::memory_bytes(1, 64)> memory_{};
};

void pause(int turns) {
  std::atomic<int> turn{0};
  while (turn.fetch_add(1, std::memory_order_relaxed) < turns) continue;
}

// Spins, so that both threads go on at the same moment; yields where there is one core for both.
template <typename Condition>
void await(const Condition& condition) {
  for (int spins = 0; !condition(); ++spins) {
    if (spins > 2000) std::this_thread::yield();
  }
}

TEST(Lane, AClaimedSlotIsKnownToBeAtWorkUntilItIsLetGo) {
  Lane lane;
  lane.post_reference();
  ASSERT_TRUE(lane.receiver.claim());
  lane.sender.revoke_references();
  EXPECT_TRUE(lane.sender.peer_at_work());
  EXPECT_FALSE(lane.receiver.finish_claim());
  EXPECT_FALSE(lane.sender.peer_at_work());
}

TEST(Lane, ASlotTakenBackCanNeitherBeClaimedNorSeen) {
  Lane lane;
  lane.post_reference();
  lane.sender.revoke_references();
  EXPECT_FALSE(lane.receiver.claim());
  EXPECT_FALSE(lane.receiver.still_there());
  EXPECT_EQ(lane.receiver.front(), nullptr);
  EXPECT_FALSE(lane.sender.peer_at_work());
}

TEST(Lane, WhatTheReceiverSaysItTookIsBelievedIfItCanBeTrue) {
  Lane lane;
  lane.sender.post();
  ASSERT_FALSE(lane.sender.has_credit());  // one slot, and nobody took it
  lane.sender.hear_of(2);                  // more than was sent
  EXPECT_FALSE(lane.sender.has_credit());
  lane.sender.hear_of(1);
  EXPECT_TRUE(lane.sender.has_credit());
  lane.sender.hear_of(0);  // less than was known
  EXPECT_TRUE(lane.sender.taken(1));
}

// Whichever comes first: the sender knows of every receiver that writes.
TEST(Lane, NobodyWritesUnknownToASenderThatTakesItsSlotBack) {
  constexpr int kRounds = 20'000;
  std::optional<Lane> lane;
  std::atomic<int> begun{0}, ended{0};
  std::atomic<bool> writing{false};
  std::thread receiver([&] {
    for (int round = 1; round <= kRounds; ++round) {
      await([&] { return begun.load() == round; });
      pause(round * 7 % 20);
      if (lane->receiver.claim()) {
        writing.store(true);
        pause(50);
        writing.store(false);
        (void)lane->receiver.finish_claim();
      }
      ended.store(round);
    }
  });
  int surprises = 0;
  for (int round = 1; round <= kRounds; ++round) {
    lane.emplace();
    lane->post_reference();
    begun.store(round);
    pause(round * 11 % 20);
    lane->sender.revoke_references();
    await([&] { return !lane->sender.peer_at_work(); });
    bool surprised = false;
    await([&] {
      surprised = surprised || writing.load();
      return ended.load() == round;
    });
    surprises += surprised ? 1 : 0;
  }
  receiver.join();
  EXPECT_EQ(surprises, 0);
}

}  // namespace
}  // namespace gyre
