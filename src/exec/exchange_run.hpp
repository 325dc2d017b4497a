// The one-shot all-reduce of a small message in a straight line: everybody sends everything to
// everybody and folds for itself, in rank order.
//
// It does what the strands of direct::one_shot_all_reduce do, slot by slot; ranks may run either.
// Small calls are all overhead: between two ranks, 8 bytes took 2,100 instructions through the
// interpreter besides the waits, and take 600 here.
#pragma once

#include <cstdint>

#include "exec/strand_run.hpp"

namespace gyre {

class ExchangeRun {
 public:
  // Larger messages gain nothing, and may travel by the outbox.
  static constexpr std::uint64_t kMostBytes = 4095;

  // `work` is an all-reduce of `elements`, at most kMostBytes.
  ExchangeRun(const Work& work, std::uint64_t elements);

  // The same work from the start, on other buffers and under another number.
  void restart(const std::byte* input, std::byte* output, CallStamp stamp);

  // Sends, if it has not, when every lane has a free slot; folds when every peer's message is
  // there.
  Result<Progress> try_step(const Wiring& wiring);

  // The peer whose lane it waits for, or -1.
  int blocked_on(const Wiring& wiring) const;

 private:
  void send_all(const Wiring& wiring) const;
  Result<void> fold_all(const Wiring& wiring) const;

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
