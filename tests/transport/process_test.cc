// Peers that are other processes, and what their deaths look like.
#include <gtest/gtest.h>
#include <signal.h>

#include "tests/transport/harness.hpp"

namespace gyre::test {
namespace {

class Process : public testing::TestWithParam<Kind> {};

std::string kind_name(const testing::TestParamInfo<Kind>& kind) {
  return kind.param.name + std::to_string(kind.param.streams) +
         (kind.param.hook.empty() ? "" : "_hook");
}

INSTANTIATE_TEST_SUITE_P(All, Process,
                         testing::Values(Kind{"shm", ""}, Kind{"socket", "", 1},
                                         Kind{"socket", "", 2}, Kind{"shm", "trace:/dev/null"}),
                         kind_name);

void expect_three_messages(Node& node) {
  std::vector<std::byte> payload;
  for (std::uint64_t i = 0; i < 3; ++i) {
    ASSERT_TRUE(node.receive(1, payload));
    EXPECT_EQ(payload, pattern(i, 1000));
  }
}

TEST_P(Process, AKilledPeerIsSeenAtOnce) {
  Child child(GetParam(), "post-and-wait");
  ASSERT_TRUE(child.connected());
  expect_three_messages(child.node());
  EXPECT_FALSE(child.node().losses.of(1));
  child.signal(SIGKILL);
  const auto since = Clock::now();
  ASSERT_TRUE(child.node().drive([&] { return child.node().losses.of(1).has_value(); },
                                 Deadline::after(milliseconds(5'000))));
  EXPECT_LT(Clock::now() - since, std::chrono::seconds(1)) << *child.node().losses.of(1);
}

TEST_P(Process, WhatAPeerPostedBeforeItExitedArrives) {
  Child child(GetParam(), "post-and-exit");
  ASSERT_TRUE(child.connected());
  // Also when the loss was noticed long before.
  ASSERT_TRUE(child.node().drive([&] { return child.node().losses.of(1).has_value(); },
                                 Deadline::after(milliseconds(10'000))));
  expect_three_messages(child.node());
}

TEST_P(Process, AGoodbyeIsNoLossEvenWhenTheProcessEnds) {
  Child child(GetParam(), "post-and-goodbye");
  ASSERT_TRUE(child.connected());
  expect_three_messages(child.node());
  child.await_exit();
  EXPECT_FALSE(child.node().drive([&] { return child.node().losses.of(1).has_value(); },
                                  Deadline::after(milliseconds(300))));
}

TEST_P(Process, AStoppedPeerIsNotLostAndGoesOn) {
  Child child(GetParam(), "echo");
  ASSERT_TRUE(child.connected());
  Node& node = child.node();
  const auto data = pattern(9, 64 << 10);
  ASSERT_TRUE(node.send(1, data.data(), data.size()));
  std::vector<std::byte> payload;
  ASSERT_TRUE(node.receive(1, payload));
  child.signal(SIGSTOP);
  child.await_stopped();
  std::uint64_t posted = 0;
  while (posted < 4000 && node.drive([&] { return node.link(1).send.has_credit(); },
                                     Deadline::after(milliseconds(200)))) {
    ASSERT_TRUE(node.send(1, data.data(), data.size()));
    ++posted;
  }
  EXPECT_LT(posted, 4000U);
  EXPECT_FALSE(node.losses.of(1));
  child.signal(SIGCONT);
  for (std::uint64_t i = 0; i < posted; ++i) {
    ASSERT_TRUE(node.receive(1, payload));
    ASSERT_EQ(payload, data);
  }
}

// A slot by address names bytes of another process.
TEST(ProcessShm, ReadsAPeersMemoryWhereItLies) {
  Child child({"shm", ""}, "echo");
  ASSERT_TRUE(child.connected());
  const auto data = pattern(3, 64 << 10);
  SlotHeader header;
  if (!child.node().link(1).refer(data.data(), data.size(), true, header)) {
    GTEST_SKIP() << "process_vm_readv is not permitted here";
  }
  EXPECT_EQ(header.kind, SlotKind::address);
  EXPECT_FALSE(child.node().link(1).refer(data.data(), data.size(), false, header))
      << "what is reduced is not sent by address unless GYRE_CMA=1";
  ASSERT_TRUE(child.node().send(1, data.data(), data.size(), true, true));
  std::vector<std::byte> payload;
  ASSERT_TRUE(child.node().receive(1, payload));
  EXPECT_EQ(payload, data);
}

}  // namespace
}  // namespace gyre::test
