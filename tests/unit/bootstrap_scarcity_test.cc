// The reactor and its connections where memory is gone or the kernel refuses.
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <array>
#include <cstdlib>
#include <new>
#include <string>
#include <system_error>

#include "bootstrap/listener.hpp"
#include "bootstrap/reactor.hpp"

namespace {

thread_local bool memory_is_gone = false;

}  // namespace

void* operator new(std::size_t bytes) {
  void* const memory = memory_is_gone ? nullptr : std::malloc(bytes);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

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
  memory_is_gone = true;
  Reactor::instance().run([&ran, large] { ran = large[0] == std::byte{0}; });
  registration->reset();
  memory_is_gone = false;
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

}  // namespace
}  // namespace gyre
