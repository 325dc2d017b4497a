// A bell wakes a thread that sleeps until one of its lanes moves.
//
// The word lives in memory that both sides see (a process's heap, or a shared segment); the sleeper
// owns the BellEnd, everybody who may wake it holds a BellRope. Order: the sleeper stores
// kAsleep* (seq_cst), looks at its lanes once more, then sleeps; the waker publishes its data, then
// loads the word after a seq_cst fence. One of the two always sees the other (Dekker), so no wake
// is lost, and a waker whose peer is awake pays one fence and one load, no system call.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"

struct pollfd;

namespace gyre {

struct alignas(64) BellWord {
  enum : std::uint32_t { kAwake = 0, kAsleepFutex = 1, kAsleepPoll = 2 };
  std::atomic<std::uint32_t> state{kAwake};
  std::uint32_t pad[15] = {};
};
static_assert(sizeof(BellWord) == 64);

// What a waker holds: the word, and the eventfd that wakes a sleeper which also polls sockets.
struct BellRope {
  BellWord* word = nullptr;
  int event_fd = -1;  // not owned

  // Wakes the sleeper if it sleeps. Call after publishing. Any thread; no system call if awake.
  void ring() const;
  // Whether the sleeper was seen to sleep: without a fence, so that "no" may be wrong.
  bool seen_asleep() const {
    return word->state.load(std::memory_order_relaxed) != BellWord::kAwake;
  }
  // The two halves of ring(): one fence after publishing is enough for any number of ropes.
  void fence() const;
  void wake() const;
};

// Sleeps until one of `bells` rings, a descriptor of `fds` is ready, or the deadline passes (at
// most `cap`). Usage: prepare(), look at the lanes once more, then sleep() or cancel().
// With no fds and one bell it is a futex wait; otherwise poll(2) with the bells' eventfds.
class BellEnd {
 public:
  // `word` must outlive the end; may lie in shared memory.
  static Result<BellEnd> create(BellWord* word);

  BellRope rope() const { return {word_, event_.get()}; }
  int event_fd() const { return event_.get(); }

  void prepare(bool with_descriptors) const;
  void cancel() const;
  void sleep(milliseconds cap) const;  // after prepare(false)
  void drain() const;                  // empties the eventfd after a poll

 private:
  BellEnd(BellWord* word, Fd event) : word_(word), event_(std::move(event)) {}
  BellWord* word_ = nullptr;
  Fd event_;
};

// Sleeps on several bells and descriptors at once. Every bell was prepared with
// with_descriptors = true. `fds` are the caller's sockets; revents are filled in. The bells join
// them meanwhile: no allocation if there is room for as many more.
void sleep_on(std::span<const BellEnd* const> bells, std::vector<pollfd>& fds, milliseconds cap);

}  // namespace gyre
