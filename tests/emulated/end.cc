#include "tests/emulated/end.hpp"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace gyre::emulated {
namespace {

// A vendor's runtime takes as long, and so does what else a program registers. Threads that look
// around now and then do so meanwhile.
constexpr std::chrono::milliseconds kLastMoments{50};

constinit std::atomic<bool> has_ended = false;

}  // namespace

void watch_end() {
  (void)std::atexit([] {
    has_ended = true;
    std::this_thread::sleep_for(kLastMoments);
  });
}

void expect_alive(const char* call) noexcept {
  if (!has_ended) return;
  std::fprintf(stderr, "emulated device: %s, after the end of the process took it down\n", call);
  std::abort();
}

}  // namespace gyre::emulated
