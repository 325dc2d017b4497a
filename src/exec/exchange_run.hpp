// A collective of small messages in a straight line: everybody sends what the others need of it,
// and folds or stores what they sent when all of it is there.
//
// It sends what the strands of the direct schedules send, slot by slot, but never by reference.
// Small calls are all overhead: between two ranks, an all-reduce of 8 bytes took 2,100 instructions
// through the interpreter besides the waits, and takes 600 here.
#pragma once

#include <cstdint>

#include "exec/exchange.hpp"
#include "exec/strand_run.hpp"

namespace gyre {

class ExchangeRun {
 public:
  // Larger messages for several peers may travel by the outbox, for one past the caches.
  static constexpr std::uint64_t most_bytes(std::uint32_t world) {
    return world > 2 ? 4095 : StoreRoute::kLeastBytes - 1;
  }

  // `work` is an exchange of messages of `elements`, of no more than most_bytes().
  ExchangeRun(const Work& work, const Exchange& exchange, std::uint64_t elements);

  // The same work from the start, on other buffers and under another number.
  void restart(const std::byte* input, std::byte* output, CallStamp stamp);

  // Sends, if it has not, when every lane has a free slot; the rest when every message is there.
  Result<Progress> try_step(const Wiring& wiring);

  // The peer whose lane it waits for, or -1; and the first whose message is all it waits for, or
  // -1.
  int blocked_on(const Wiring& wiring) const;
  int awaited_sender(const Wiring& wiring) const;
  CallTag tag() const { return tag_; }
  CallStamp stamp() const { return stamp_; }

 private:
  void send_all(const Wiring& wiring) const;
  Result<const std::byte*> receive(std::uint32_t peer, const Wiring& wiring) const;
  Result<void> fold_all(const Wiring& wiring) const;
  Result<void> store_all(const Wiring& wiring) const;
  const std::byte* own_part(const Wiring& wiring) const {
    return input_ + wiring.rank * exchange_.input_stride;
  }

  Exchange exchange_;
  const std::byte* input_;
  std::byte* output_;
  std::uint64_t elements_;
  std::uint64_t bytes_;
  Fold fold_;
  CallTag tag_;
  CallStamp stamp_;
  bool sent_ = false;
};

}  // namespace gyre
