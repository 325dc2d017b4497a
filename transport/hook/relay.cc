#include "transport/hook/relay.hpp"

#include <fmt/format.h>

#include <cstring>

namespace gyre::hook {
namespace {

// `bytes`: from.bytes, which a peer may write again, as it was checked.
void copy_head(const SlotHeader& from, std::uint64_t bytes, SlotHeader& to) {
  to.bytes = bytes;
  to.count = from.count;
  to.call = from.call;
  to.kind = bytes <= kInlineBytes ? SlotKind::inlined : SlotKind::staged;
}

// Read once: no later look of the compiler may find another value.
std::uint64_t written_by_peer(const std::uint64_t& value) {
  return *static_cast<const volatile std::uint64_t*>(&value);
}

void ring(const BellRope& bell) {
  if (bell.word != nullptr) bell.ring();
}

}  // namespace

Relay::Relay(int peer, Link* inner, LaneView out, LaneView in)
    : peer_(peer), inner_(inner), out_(out), in_(in) {
  send = LaneSender(out);
  receive = LaneReceiver(in);
}

Result<Relay::Outcome> Relay::pump(Policy& policy) {
  Outcome outcome;
  GYRE_TRY_ASSIGN(outcome.moved, pump_in(policy));
  pump_out(policy, outcome);
  return outcome;
}

Result<bool> Relay::pump_in(Policy& policy) {
  bool moved = false;
  while (const SlotHeader* header = inner_->receive.front()) {
    if (!in_.has_credit()) break;
    const std::uint64_t bytes = written_by_peer(header->bytes);
    if (bytes > in_.view().slot_bytes) {
      return Error{Status::internal, fmt::format("rank {} sent {} bytes for a slot of {}", peer_,
                                                 bytes, in_.view().slot_bytes)};
    }
    SlotHeader& copy = in_.header();
    copy_head(*header, bytes, copy);
    std::byte* into = copy.kind == SlotKind::inlined ? copy.inline_data : in_.slot();
    if (const std::byte* data = inner_->locate(*header, bytes)) {
      std::memcpy(into, data, bytes);
    } else {
      GYRE_TRY(inner_->fetch(*header, bytes, into));
    }
    // The sender may have taken it back, to change it, while it was copied.
    if (header->by_reference() && !inner_->receive.still_there()) break;
    GYRE_TRY(inner_->intact(*header));
    policy.on_receive(peer_, in_.position(), copy);
    in_.post();
    inner_->receive.release();
    ring(inner_->peer_bell);
    moved = true;
  }
  return moved;
}

// The outer ring belongs to this process, and nothing in it goes by reference.
std::span<std::byte> Relay::copy_out(const SlotHeader& from) {
  SlotHeader& to = inner_->send.header();
  copy_head(from, from.bytes, to);
  const bool small = to.kind == SlotKind::inlined;
  std::byte* into = small ? to.inline_data : inner_->send.slot();
  const std::byte* data = from.kind == SlotKind::inlined ? from.inline_data : out_.slot();
  std::memcpy(into, data, to.bytes);
  return {into, to.bytes};
}

void Relay::post_out() {
  inner_->send.post();
  ring(inner_->peer_bell);
  out_.release();
}

void Relay::pump_out(Policy& policy, Outcome& outcome) {
  while (const SlotHeader* header = out_.front()) {
    if (!inner_->send.has_credit()) return;
    const Decision decision = policy.before_send(peer_, out_.position(), *header);
    switch (decision.fate) {
      case Fate::hold:
        outcome.again = decision.until;
        return;
      case Fate::close:
        outcome.close = true;
        return;
      case Fate::drop:
        out_.release();
        break;
      case Fate::pass: {
        const auto payload = copy_out(*header);
        policy.on_send(peer_, out_.position(), inner_->send.header(), payload);
        post_out();
        break;
      }
    }
    outcome.moved = true;
  }
}

void Relay::push_rest() {
  while (const SlotHeader* header = out_.front()) {
    if (!inner_->send.has_credit()) return;
    copy_out(*header);
    post_out();
  }
}

}  // namespace gyre::hook
