// The reactor where the kernel refuses.
#include <gtest/gtest.h>
#include <sys/epoll.h>

#include <system_error>

#include "bootstrap/reactor.hpp"

namespace gyre {
namespace {

TEST(Scarcity, WhatCannotBeWatchedIsAnException) {
  EXPECT_THROW((void)Reactor::instance().watch(-1, EPOLLIN, [](std::uint32_t) {}),
               std::system_error);
  bool ran = false;
  Reactor::instance().run([&] { ran = true; });
  EXPECT_TRUE(ran);
}

}  // namespace
}  // namespace gyre
