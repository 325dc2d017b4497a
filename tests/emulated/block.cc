#include "tests/emulated/block.hpp"

#include <sched.h>
#include <unistd.h>

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>

#include "kernels/device/threads.hpp"
#include "tests/emulated/context.hpp"

namespace gyre::emulated {

constinit thread_local Index threadIdx;
constinit thread_local Index blockIdx;
constinit thread_local Index blockDim;

namespace {

using device::kThreads;
constexpr std::uint32_t kWarp = 32;
constexpr std::uint64_t kAll = ~std::uint64_t{0};
static_assert(kThreads == 64, "a set of threads is a word");

// How often a block that waits gives way to whoever is ready to run, before it sleeps: there may be
// no other, and then it would only keep a processor busy.
constexpr std::uint32_t kYields = 64;
constexpr useconds_t kSleep = 50;

constexpr std::uint64_t bit(std::uint32_t thread) { return std::uint64_t{1} << thread; }
constexpr std::uint64_t warp_of(std::uint32_t thread) {
  return std::uint64_t{0xffff'ffff} << (thread / kWarp * kWarp);
}

// The threads of one block at a time. They stay for the next block of the same thread of the
// operating system.
class Crew {
 public:
  Crew() {
    seats_.reserve(kThreads);
    for (std::uint32_t i = 0; i < kThreads; ++i) seats_.push_back({this, i, nullptr});
    for (Seat& seat : seats_) seat.context = std::make_unique<Context>(&Crew::live, &seat);
  }

  void run(void (*body)(const void*), const void* argument) {
    body_ = body;
    argument_ = argument;
    alive_ = ready_ = kAll;
    draws_ = draws_ * 6364136223846793005U + 1442695040888963407U;
    running_ = draw();
    threadIdx.x = running_;
    outside_.switch_to(*seats_[running_].context);
  }

  void wait_for_block() {
    at_block_ |= bit(running_);
    ready_ &= ~bit(running_);
    advanced();
    open_barriers();
    go_on();
  }

  void wait_for_warp() {
    at_warp_ |= bit(running_);
    ready_ &= ~bit(running_);
    advanced();
    open_barriers();
    go_on();
  }

  void let_others_run() {
    if (++vain_looks_ >= static_cast<std::uint32_t>(std::popcount(ready_))) {
      vain_looks_ = 0;
      rest();
    }
    go_on();
  }

 private:
  struct Seat {
    Crew* crew;
    std::uint32_t thread;
    std::unique_ptr<Context> context;
  };

  // A thread's whole life: one body after the other.
  static void live(void* given) {
    Context::begun();
    Seat& seat = *static_cast<Seat*>(given);
    for (;;) {
      seat.crew->body_(seat.crew->argument_);
      seat.crew->leave();
    }
  }

  void leave() {
    alive_ &= ~bit(running_);
    ready_ &= ~bit(running_);
    advanced();
    open_barriers();
    go_on();
  }

  void open_barriers() {
    if (at_block_ == alive_) {
      ready_ |= at_block_;
      at_block_ = 0;
    }
    const std::uint64_t warp = warp_of(running_);
    if ((at_warp_ & warp) == (alive_ & warp)) {
      ready_ |= at_warp_ & warp;
      at_warp_ &= ~warp;
    }
  }

  void go_on() {
    if (ready_ == 0 && alive_ != 0) stuck();
    const std::uint32_t from = running_;
    if (ready_ == 0) {
      seats_[from].context->switch_to(outside_);
      return;
    }
    const std::uint32_t next = draw();
    if (next == from) return;
    running_ = next;
    threadIdx.x = next;
    seats_[from].context->switch_to(*seats_[next].context);
  }

  // One of those that are ready.
  std::uint32_t draw() {
    draws_ ^= draws_ << 13;
    draws_ ^= draws_ >> 7;
    draws_ ^= draws_ << 17;
    const auto first = static_cast<std::uint32_t>(draws_ >> 58);
    const auto after = std::countr_zero(std::rotr(ready_, static_cast<int>(first)));
    return (first + static_cast<std::uint32_t>(after)) % kThreads;
  }

  void advanced() { vain_looks_ = rests_ = 0; }

  void rest() {
    if (++rests_ <= kYields) {
      ::sched_yield();
    } else {
      ::usleep(kSleep);
    }
  }

  [[noreturn]] void stuck() const {
    std::fprintf(stderr,
                 "a block's threads wait for each other in different places: %016llx for the "
                 "block, %016llx for their warps\n",
                 static_cast<unsigned long long>(at_block_),
                 static_cast<unsigned long long>(at_warp_));
    std::abort();
  }

  Context outside_;
  std::vector<Seat> seats_;
  void (*body_)(const void*) = nullptr;
  const void* argument_ = nullptr;
  std::uint32_t running_ = 0;
  // Sets of threads.
  std::uint64_t alive_ = 0;
  std::uint64_t ready_ = 0;
  std::uint64_t at_block_ = 0;
  std::uint64_t at_warp_ = 0;
  std::uint32_t vain_looks_ = 0;  // since anything happened
  std::uint32_t rests_ = 0;
  std::uint64_t draws_ = 1;
};

thread_local std::unique_ptr<Crew> crew;

}  // namespace

void wait_for_block() { crew->wait_for_block(); }
void wait_for_warp() { crew->wait_for_warp(); }
void let_others_run() { crew->let_others_run(); }

void run_block(void (*body)(const void*), const void* argument, std::uint32_t block) {
  if (crew == nullptr) crew = std::make_unique<Crew>();
  blockIdx.x = block;
  blockDim.x = kThreads;
  crew->run(body, argument);
}

}  // namespace gyre::emulated
