#include "bench/limits/latency.hpp"

#include <array>
#include <limits>

namespace gyre::limits {

double flag_micros(const Cores& cores, double seconds) {
  constexpr int kTurns = 20'000;
  struct alignas(128) Flag {
    std::atomic<int> value{0};
  };
  double best = std::numeric_limits<double>::max();
  const double end = now() + seconds;
  do {
    std::array<Flag, 2> flags;
    const double taken = timed_together(cores, [&](std::size_t side) {
      std::atomic<int>& mine = flags.at(side).value;
      const std::atomic<int>& theirs = flags.at(1 - side).value;
      for (int turn = 1; turn <= kTurns; ++turn) {
        if (side == 0) mine.store(turn, std::memory_order_release);
        while (theirs.load(std::memory_order_acquire) < turn) {
        }
        if (side == 1) mine.store(turn, std::memory_order_release);
      }
    });
    best = std::min(best, taken / (2 * kTurns) * 1e6);
  } while (now() < end);
  return best;
}

}  // namespace gyre::limits
