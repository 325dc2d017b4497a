// Which way bytes go into memory that a peer has read: through the caches of this core, or past
// them.
//
// Cores that share a cache hand a line over within it, and stores through the caches are fastest.
// Cores that do not must take back, line after line, what the peer has read before they can write
// it: 2 GB/s on an EPYC whose two cores lie on different dies, where stores past the caches carry
// 6 to 12, and 14 against 6 to 12 where they share one. No table knows which it is (threads move,
// and so do the virtual CPUs of a guest), so every path measures both ways as it goes.
//
// One thread at a time. No allocation, no system call.
#pragma once

#include <cstdint>

#include "base/ticks.hpp"

namespace gyre {

class StoreRoute {
 public:
  enum class Way : std::uint8_t { through, past };

  // Less than this goes through: what a small message needs is its latency, and 4 KiB gain little.
  static constexpr std::uint64_t kLeastBytes = 8192;

  // For the next value of `bytes`: the better way, and now and then the other, to know. A trial of
  // which nothing is heard is none.
  Way next(std::uint64_t bytes);

  // What storing `bytes` of such a value took, until peers may see them, with nothing else but
  // reading them.
  void took(Way way, std::uint64_t bytes, Ticks ticks);

  Way better() const { return better_; }
  // Whether values of `bytes` usually go through the caches, so that lines are worth claiming
  // ahead.
  bool claims(std::uint64_t bytes) const { return bytes < kLeastBytes || better_ == Way::through; }

  // A trial in so many values: it costs a few percent where the other way is six times slower. A
  // prime, so that trials do not always meet the same step of a schedule.
  static constexpr std::uint32_t kTrialInterval = 127;
  static constexpr std::uint32_t kFirstTrial = 12;
  // Trials in a row that must agree: one alone may have met an interrupt, or lines that nobody
  // read.
  static constexpr std::uint32_t kConvinces = 3;

 private:
  Way better_ = Way::through;
  std::uint32_t until_trial_ = kFirstTrial;
  std::uint32_t in_favour_ = 0;  // trials in a row that speak for the other way
  std::uint64_t cost_ = 0;       // ticks per KiB of the better way, smoothed; 0: not known
};

}  // namespace gyre
