#include "base/process_end.hpp"

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "base/clock.hpp"

namespace gyre {
namespace {

// A vendor's call may wait for the user's kernels, which may never end.
constexpr milliseconds kPatience{1000};
constexpr milliseconds kPoll{1};

struct End {
  std::atomic<int> at_work = 0;
  std::atomic<bool> has_begun = false;
  pid_t process = 0;
};
constinit End end;

void begin_end() {
  if (end.process != ::getpid()) return;
  end.has_begun.store(true, std::memory_order_seq_cst);
  const Deadline deadline = Deadline::after(kPatience);
  while (end.at_work.load(std::memory_order_seq_cst) != 0 && !deadline.expired()) {
    std::this_thread::sleep_for(kPoll);
  }
}

}  // namespace

void ProcessEnd::watch() {
  // Its destructor is registered when it is made, like what atexit() is given. (Libraries that call
  // that one cannot be linked against under ThreadSanitizer.)
  struct AtEnd {
    AtEnd() { end.process = ::getpid(); }
    ~AtEnd() { begin_end(); }
  };
  static const AtEnd at_end;
}

// In one order for all: either the end sees this one at work, or this one sees that it has begun.
ProcessEnd::Work::Work() {
  end.at_work.fetch_add(1, std::memory_order_seq_cst);
  begun_ = !end.has_begun.load(std::memory_order_seq_cst);
  if (!begun_) end.at_work.fetch_sub(1, std::memory_order_seq_cst);
}

ProcessEnd::Work::~Work() {
  if (begun_) end.at_work.fetch_sub(1, std::memory_order_release);
}

}  // namespace gyre
