// The link a hook shows to the executor: two rings in this process's memory, whose slots the hook
// copies to and from the real lanes.
#pragma once

#include "base/clock.hpp"
#include "transport/hook/policy.hpp"
#include "transport/transport.hpp"

namespace gyre::hook {

class Relay final : public Link {
 public:
  // Both views are zeroed memory of this process; the inner link outlives the relay.
  Relay(int peer, Link* inner, LaneView out, LaneView in);

  // Nothing goes by reference: the hook owns every payload that passes.

  struct Outcome {
    bool moved = false;
    bool close = false;
    Clock::time_point again = Clock::time_point::max();  // when a slot that is held may go
  };
  Result<Outcome> pump(Policy& policy);
  // Sends what is posted, as far as the inner lane has room, whatever the policy says.
  void push_rest();
  bool flushed() const override { return send.position() == out_.position(); }

 private:
  Result<bool> pump_in(Policy& policy);
  void pump_out(Policy& policy, Outcome& outcome);
  std::span<std::byte> copy_out(const SlotHeader& from);
  void post_out();

  int peer_;
  Link* inner_;
  LaneReceiver out_;  // the other end of `send`
  LaneSender in_;     // the other end of `receive`
};

}  // namespace gyre::hook
