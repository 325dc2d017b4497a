// For how long a wait spins before its thread sleeps.
#pragma once

#include <algorithm>

namespace gyre {

// Where a peer has a core of its own, what it sends comes while we spin, and a sleep and a wake
// would cost more. Where it shares ours it cannot run before we sleep, and each spin is lost:
// measured with two ranks on one core, 130 us an all-reduce of 16 bytes instead of 7. So after a
// few waits in a row that spun in vain only every so many waits spin for long, to see whether that
// has changed.
class SpinBudget {
 public:
  explicit SpinBudget(unsigned most) : most_(most) {}

  // Whether peers seem to run while this rank spins, and `sweeps` more or less make no difference.
  bool has_plenty(unsigned sweeps) const {
    return most_ / kSmallPart >= sweeps && misses_ < kMostMisses;
  }
  // Empty sweeps that the wait that begins now may take.
  unsigned next() {
    ++waits_;
    const bool spins = misses_ < kMostMisses || waits_ % kWaitsPerTrial == 0;
    return spins ? most_ : std::min(most_, kLeast);
  }
  // The wait ended after so many sweeps: the peer ran meanwhile, unless it was as good as there.
  void found(unsigned sweeps) {
    if (sweeps >= kRealWait) misses_ = 0;
  }
  // It did not: the thread yielded, or slept.
  void missed() { misses_ = std::min(misses_ + 1, kMostMisses); }

 private:
  static constexpr unsigned kSmallPart = 4;
  static constexpr unsigned kLeast = 32;  // about 2 us
  static constexpr unsigned kRealWait = 4;
  static constexpr unsigned kMostMisses = 8;
  static constexpr unsigned kWaitsPerTrial = 32;

  unsigned most_;
  unsigned misses_ = 0;
  unsigned waits_ = 0;
};

}  // namespace gyre
