// The reactor and its connections where memory is gone or the kernel refuses.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/epoll.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <system_error>

#include "bootstrap/frame_connection.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/reactor.hpp"
#include "tests/scarce_memory.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

TEST(Scarcity, WhatCannotBeWatchedIsAnException) {
  EXPECT_THROW((void)Reactor::instance().watch(-1, EPOLLIN, [](std::uint32_t) {}),
               std::system_error);
  bool ran = false;
  Reactor::instance().run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

TEST(Scarcity, TeardownNeedsNoMemory) {
  auto registration =
      Listener::instance().expect(random_job_key(), Purpose::lane, [](const Hello&, Fd) {});
  ASSERT_TRUE(registration);
  const std::array<std::byte, 256> large{};
  bool ran = false;
  test::largest_block = 0;
  Reactor::instance().run([&ran, large] { ran = large[0] == std::byte{0}; });
  registration->reset();
  test::largest_block = test::kNoLimit;
  EXPECT_TRUE(ran);
}

TEST(Scarcity, RunsAndPostsKeepTheirOrder) {
  std::string order;
  for (char c = 'a'; c < 'e'; ++c) {
    Reactor::instance().post([&order, c] { order += c; });
    Reactor::instance().run([&order, c] { order += static_cast<char>(c - 'a' + 'A'); });
  }
  EXPECT_EQ(order, "aAbBcCdD");
  EXPECT_THROW(Reactor::instance().run([] { throw std::bad_alloc(); }), std::bad_alloc);
}

TEST(Scarcity, ASendThatFailsForAReasonOfOursEndsTheConnection) {
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
  const Fd writer(ends[1]);
  std::mutex mutex;
  std::string end;
  const auto ended = [&] {
    const std::lock_guard lock(mutex);
    return !end.empty();
  };
  std::shared_ptr<FrameConnection> connection;
  Reactor::instance().run([&] {
    // send(2) on what is no socket: an error that no peer makes.
    connection = FrameConnection::start(Fd(ends[0]), 100,
                                        {[](const Frame&) {},
                                         [&](std::string how) {
                                           const std::lock_guard lock(mutex);
                                           end = std::move(how);
                                         }});
    connection->send(encode(FrameType::goodbye, 0, {}));
  });
  EXPECT_TRUE(test::eventually(ended, milliseconds(2'000)));
  EXPECT_NE(end.find("non-socket"), std::string::npos) << end;
  Reactor::instance().run([&] { connection.reset(); });
}

}  // namespace
}  // namespace gyre
