// What a hook does to the slots that pass through it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "base/clock.hpp"
#include "schedule/lane.hpp"
#include "transport/hook/plan.hpp"

namespace gyre::hook {

enum class Fate : std::uint8_t {
  pass,
  hold,   // not yet: ask again at `until`
  drop,   // leave it out
  close,  // end the whole transport, without a goodbye
};

struct Decision {
  Fate fate = Fate::pass;
  Clock::time_point until{};
};

// The executor's thread alone calls it.
class Policy {
 public:
  virtual ~Policy() = default;

  // About to send. Asked before any copy, again after each hold.
  virtual Decision before_send(int peer, std::uint64_t position, const SlotHeader& header) {
    (void)peer, (void)position, (void)header;
    return {};
  }
  // `header` and its `payload` are the copies that go out; both may be changed.
  virtual void on_send(int peer, std::uint64_t position, SlotHeader& header,
                       std::span<std::byte> payload) {
    (void)peer, (void)position, (void)header, (void)payload;
  }
  virtual void on_receive(int peer, std::uint64_t position, const SlotHeader& header) {
    (void)peer, (void)position, (void)header;
  }
};

// Error: the trace file cannot be opened.
Result<std::unique_ptr<Policy>> make_policy(const Plan& plan, int rank);

}  // namespace gyre::hook
