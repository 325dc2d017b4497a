#include "base/store_route.hpp"

#include <algorithm>

namespace gyre {
namespace {

// A writer past the caches does not see when its bytes arrive, and their reader fetches them from
// memory. Measured there: three to four times as fast as through a cache that is shared, where the
// whole call is slower; 8 to 16 times as fast between cores that share none. In halves.
constexpr std::uint64_t kPastMustWinBy = 10, kThroughMayLoseBy = 9, kHalves = 2;

StoreRoute::Way other(StoreRoute::Way way) {
  return way == StoreRoute::Way::through ? StoreRoute::Way::past : StoreRoute::Way::through;
}

// Whether a trial of `way` speaks for it, at `trial` against the `usual` cost of the other one.
bool speaks_for(StoreRoute::Way way, std::uint64_t trial, std::uint64_t usual) {
  return way == StoreRoute::Way::past ? trial * kPastMustWinBy < usual * kHalves
                                      : trial * kHalves < usual * kThroughMayLoseBy;
}

// Interrupts and the first touch of a page are no properties of the way: slowly up, quickly down.
std::uint64_t smoothed(std::uint64_t cost, std::uint64_t sample) {
  if (cost == 0) return sample;
  if (sample < cost) return (cost + sample) / 2;
  return (7 * cost + std::min(sample, 2 * cost) + 7) / 8;
}

}  // namespace

StoreRoute::Way StoreRoute::next(std::uint64_t bytes) {
  if (bytes < kLeastBytes) return Way::through;
  if (until_trial_ > 0) {
    --until_trial_;
    return better_;
  }
  until_trial_ = kTrialInterval;
  return other(better_);
}

void StoreRoute::took(Way way, std::uint64_t bytes, Ticks ticks) {
  if (bytes < kLeastBytes) return;
  const std::uint64_t sample = std::max<std::uint64_t>(ticks * 1024 / bytes, 1);
  if (way == better_) {
    cost_ = smoothed(cost_, sample);
    return;
  }
  if (!speaks_for(way, sample, cost_)) {
    in_favour_ = 0;
    return;
  }
  until_trial_ = 0;
  if (++in_favour_ < kConvinces) return;
  better_ = way;
  cost_ = sample;
  in_favour_ = 0;
  until_trial_ = kTrialInterval;
}

}  // namespace gyre
