// What every transport must do, whatever moves its bytes.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/transport/harness.hpp"

namespace gyre::test {
namespace {

class Conformance : public testing::TestWithParam<Kind> {};

std::string kind_name(const testing::TestParamInfo<Kind>& info) {
  std::string name = info.param.name;
  if (info.param.streams > 1) name += "_" + std::to_string(info.param.streams) + "streams";
  if (!info.param.hook.empty()) name += "_" + info.param.hook.substr(0, info.param.hook.find(':'));
  return name;
}

std::vector<Kind> kinds() {
  return {{"direct", ""},
          {"shm", ""},
          {"socket", "", 1},
          {"socket", "", 3},
          {"direct", "throttle:1000000000"},
          {"shm", "trace:/dev/null"},
          {"socket", "fault:delay_ms=0", 2}};
}

INSTANTIATE_TEST_SUITE_P(All, Conformance, testing::ValuesIn(kinds()), kind_name);

const std::vector<std::uint64_t> kSizes = {
    0, 1, 23, 24, 25, 63, 1000, 4095, 4096, 4097, (64 << 10) - 1, 64 << 10, 7, 64 << 10, 0, 32};

void send_all(Node& node, int peer, int rounds, bool refer) {
  // Referenced bytes stay unchanged until they are taken, so each message has its own.
  std::vector<std::vector<std::byte>> kept;
  for (int i = 0; i < rounds; ++i) {
    const auto size = kSizes[static_cast<std::size_t>(i) % kSizes.size()];
    kept.push_back(pattern(static_cast<std::uint64_t>(node.rank * 1000 + i), size));
    ASSERT_TRUE(node.send(peer, kept.back().data(), size, refer));
  }
  ASSERT_TRUE(node.drive([&] {
    return node.link(peer).send.taken(node.link(peer).send.position()) && node.transport->flushed();
  }));
}

void receive_all(Node& node, int peer, int rounds) {
  std::vector<std::byte> payload;
  for (int i = 0; i < rounds; ++i) {
    const auto size = kSizes[static_cast<std::size_t>(i) % kSizes.size()];
    SlotHeader header;
    ASSERT_TRUE(node.receive(peer, payload, &header));
    ASSERT_EQ(payload, pattern(static_cast<std::uint64_t>(peer * 1000 + i), size)) << "slot " << i;
    ASSERT_EQ(header.count, size + 1);
    ASSERT_EQ(header.call, static_cast<std::uint32_t>(i * 3));
  }
}

TEST_P(Conformance, EveryVerdictIsTrueAndNobodyIsLost) {
  World world(GetParam(), 4);
  ASSERT_TRUE(world.connected());
  for (int a = 0; a < 4; ++a) {
    for (int b = 0; b < 4; ++b) {
      EXPECT_EQ(world[a].transport->link(b) != nullptr, a != b);
      EXPECT_FALSE(world[a].losses.of(b));
    }
  }
}

TEST_P(Conformance, KeepsOrderAndContent) {
  World world(GetParam(), 2);
  world.each([&](int rank) {
    if (rank == 0) {
      send_all(world[0], 1, 100, false);
    } else {
      receive_all(world[1], 0, 100);
    }
  });
}

TEST_P(Conformance, KeepsOrderAndContentByReference) {
  World world(GetParam(), 2);
  world.each([&](int rank) {
    if (rank == 0) {
      send_all(world[0], 1, 100, true);
    } else {
      receive_all(world[1], 0, 100);
    }
  });
}

TEST_P(Conformance, WorksWithAnyNumberOfSlots) {
  for (const int slots : {1, 2, 3, 5, 8}) {
    World world(GetParam(), 2, [&](Settings& settings, int) { settings.slots = slots; });
    ASSERT_TRUE(world.connected());
    world.each([&](int rank) {
      if (rank == 0) {
        send_all(world[0], 1, 40, slots % 2 == 0);
      } else {
        receive_all(world[1], 0, 40);
      }
    });
  }
}

// A sender without a receiver stops; nothing is lost, and it goes on when the receiver does.
TEST_P(Conformance, PushesBack) {
  World world(GetParam(), 2);
  Node& sender = world[0];
  Link& link = sender.link(1);
  const auto data = pattern(1, 64 << 10);
  std::uint64_t posted = 0;
  // Sockets hold megabytes; everything beyond is a bug.
  while (posted < 4000 &&
         sender.drive([&] { return link.send.has_credit(); }, Deadline::after(milliseconds(200)))) {
    ASSERT_TRUE(sender.send(1, data.data(), data.size()));
    ++posted;
  }
  ASSERT_LT(posted, 4000U);
  ASSERT_GE(posted, 4U);
  world.each([&](int rank) {
    std::vector<std::byte> payload;
    if (rank == 0) {
      ASSERT_TRUE(sender.drive([&] { return link.send.taken(posted); }));
      ASSERT_TRUE(sender.send(1, data.data(), 10));
      ASSERT_TRUE(sender.drive([&] { return sender.transport->flushed(); }));
      return;
    }
    for (std::uint64_t i = 0; i < posted; ++i) {
      ASSERT_TRUE(world[1].receive(0, payload));
      ASSERT_EQ(payload, data);
    }
    ASSERT_TRUE(world[1].receive(0, payload));
    ASSERT_EQ(payload.size(), 10U);
  });
}

TEST_P(Conformance, ManySendToOne) {
  World world(GetParam(), 5);
  world.each([&](int rank) {
    if (rank > 0) return send_all(world[rank], 0, 48, rank % 2 == 0);
    // Round robin, so that every lane makes progress.
    std::vector<std::byte> payload;
    for (int i = 0; i < 48; ++i) {
      for (int peer = 1; peer < 5; ++peer) {
        ASSERT_TRUE(world[0].receive(peer, payload));
        ASSERT_EQ(payload, pattern(static_cast<std::uint64_t>(peer * 1000 + i),
                                   kSizes[static_cast<std::size_t>(i) % kSizes.size()]));
      }
    }
  });
}

// Both directions at once from one thread each, as fast as possible.
TEST_P(Conformance, FloodsBothWays) {
  World world(GetParam(), 2);
  constexpr std::uint64_t kMessages = 150;
  world.each([&](int rank) {
    Node& node = world[rank];
    Link& link = node.link(1 - rank);
    const auto mine = pattern(static_cast<std::uint64_t>(rank), 64 << 10);
    const auto theirs = pattern(static_cast<std::uint64_t>(1 - rank), 64 << 10);
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    std::vector<std::byte> payload;
    while (sent < kMessages || received < kMessages) {
      ASSERT_TRUE(node.drive([&] {
        return (sent < kMessages && link.send.has_credit()) || link.receive.front() != nullptr;
      }));
      if (sent < kMessages && link.send.has_credit()) {
        ASSERT_TRUE(node.send(1 - rank, mine.data(), mine.size(), sent % 2 == 0));
        ++sent;
      }
      if (link.receive.front() != nullptr) {
        ASSERT_TRUE(node.receive(1 - rank, payload));
        ASSERT_EQ(payload, theirs);
        ++received;
      }
    }
    ASSERT_TRUE(
        node.drive([&] { return link.send.taken(kMessages) && node.transport->flushed(); }));
  });
}

TEST_P(Conformance, WhatWasPostedBeforeAGoodbyeArrives) {
  World world(GetParam(), 2);
  std::vector<std::vector<std::byte>> sent;
  for (std::uint64_t i = 0; i < 4; ++i) {
    sent.push_back(pattern(i, 5000));
    ASSERT_TRUE(world[0].send(1, sent.back().data(), sent.back().size()));
  }
  world[0].transport->close(true);
  std::vector<std::byte> payload;
  for (const auto& expected : sent) {
    ASSERT_TRUE(world[1].receive(0, payload));
    EXPECT_EQ(payload, expected);
  }
  EXPECT_FALSE(world[1].drive([&] { return world[1].losses.of(0).has_value(); },
                              Deadline::after(milliseconds(200))));
}

TEST_P(Conformance, LeavingWithoutAGoodbyeIsALossAfterWhatArrived) {
  World world(GetParam(), 2);
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const auto data = pattern(i, 3000);
    ASSERT_TRUE(world[0].send(1, data.data(), data.size()));
  }
  ASSERT_TRUE(world[0].drive([&] { return world[0].transport->flushed(); }));
  world[0].transport->close(false);
  ASSERT_TRUE(world[1].drive([&] { return world[1].losses.of(0).has_value(); },
                             Deadline::after(milliseconds(10'000))));
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(world[1].receive(0, payload));
    EXPECT_EQ(payload, pattern(i, 3000));
  }
  EXPECT_FALSE(world[1].losses.of(0)->empty());
}

TEST_P(Conformance, LeavesNothingBehind) {
  const auto round = [&] {
    World world(GetParam(), 2);
    ASSERT_TRUE(world.connected());
    const auto data = pattern(5, 100);
    ASSERT_TRUE(world[0].send(1, data.data(), data.size()));
    std::vector<std::byte> payload;
    std::thread helper([&] { world[0].drive([&] { return world[0].transport->flushed(); }); });
    ASSERT_TRUE(world[1].receive(0, payload));
    helper.join();
    world[0].transport->close(true);
    world[1].transport->close(true);
  };
  for (int i = 0; i < 3; ++i) round();
  // Goodbyes may linger on the reactor for a moment.
  const auto settles_at = [&](auto count, std::size_t limit) {
    const Deadline deadline = Deadline::after(milliseconds(10'000));
    while (count() > limit && !deadline.expired()) std::this_thread::yield();
    return count() <= limit;
  };
  const std::size_t descriptors = open_descriptors();
  const std::size_t threads = running_threads();
  for (int i = 0; i < 100; ++i) round();
  EXPECT_TRUE(settles_at(open_descriptors, descriptors)) << open_descriptors();
  EXPECT_TRUE(settles_at(running_threads, threads)) << running_threads();
}

// connect() ends soon after an abort, though a peer never comes.
TEST_P(Conformance, AnAbortEndsConnect) {
  const JobKey key = fresh_key();
  Node node(1, 2, key, GetParam(), small_settings());
  Node absent(0, 2, key, GetParam(), small_settings());
  std::vector<Blob> blobs(2);
  const auto mine = node.transport->offer();
  const auto theirs = absent.transport->offer();
  ASSERT_TRUE(mine && theirs);
  blobs = {*theirs, *mine};
  std::atomic<bool> started{false};
  Clock::time_point ended{};
  std::thread connecting([&] {
    started = true;
    const std::vector<int> peers = {0};
    [[maybe_unused]] const auto result =
        node.transport->connect(peers, blobs, Deadline::after(kHang));
    ended = Clock::now();
  });
  while (!started) std::this_thread::yield();
  const auto raised = Clock::now();
  node.abort.raise({Status::aborted, "the test aborts"});
  connecting.join();
  EXPECT_LT(ended - raised, std::chrono::seconds(2));
}

TEST_P(Conformance, ManyRanksConnectAtOnce) {
  constexpr int kRanks = 24;
  const auto since = Clock::now();
  World world(GetParam(), kRanks, [](Settings& settings, int) {
    settings.slots = 2;
    settings.slot_bytes = 4096;
  });
  EXPECT_TRUE(world.connected());
  const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - since);
  RecordProperty("connect_ms", static_cast<int>(took.count()));
  EXPECT_LT(took, milliseconds(20'000));
}

}  // namespace
}  // namespace gyre::test
