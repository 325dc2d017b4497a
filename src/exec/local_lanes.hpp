// The lanes between the two strands of one launch on one rank: tokens without content, so a count
// is all there is of them. One thread drives both strands.
#pragma once

#include <array>
#include <cstdint>

#include "schedule/step.hpp"

namespace gyre {

class LocalLanes {
 public:
  // Whether `strand` can take a token of the other one, or give it one.
  bool ready(Token token, int strand) const {
    return token == Token::take ? waiting_[other(strand)] != 0 : waiting_[own(strand)] < kSlots;
  }
  void move(Token token, int strand) {
    if (token == Token::take) --waiting_[other(strand)];
    if (token == Token::give) ++waiting_[own(strand)];
  }

 private:
  // No fewer than the slots of any lane between ranks: GYRE_SLOTS is at least that.
  static constexpr std::uint32_t kSlots = 4;
  static std::size_t own(int strand) { return static_cast<std::size_t>(strand); }
  static std::size_t other(int strand) { return static_cast<std::size_t>(1 - strand); }

  std::array<std::uint32_t, kMaxStrands> waiting_{};  // by the strand that gave them
};

}  // namespace gyre
