#include "base/result_route.hpp"

#include <algorithm>

namespace gyre {
namespace {

using Way = ResultRoute::Way;

Way other(Way way) { return way == Way::through ? Way::past : Way::through; }

// Results past the caches must be fetched by whoever reads them, which no call sees: they have to
// win by a quarter. The other way, what a rank leaves in its caches may cost its peers.
bool wins(Way trial, std::uint64_t cost, std::uint64_t usual) {
  return trial == Way::past ? cost * 5 < usual * 4 : cost * 20 < usual * 17;
}

}  // namespace

ResultRoute::Way ResultRoute::next() {
  if (to_hear_of_ == 0 && until_trial_ == 0) to_begin_ = to_hear_of_ = kTrialCalls;
  if (to_begin_ == 0) return better_;
  --to_begin_;
  return other(better_);
}

void ResultRoute::took(Way way, std::uint64_t bytes, Ticks ticks) {
  if (bytes == 0) return;
  const std::uint64_t cost = std::max<std::uint64_t>(ticks * 1024 / bytes, 1);
  if (way != better_) {
    if (to_hear_of_ > 0 && --to_hear_of_ == 0) judge(cost);
    return;
  }
  if (to_hear_of_ > 0) return;  // its caches are the trial's
  if (unsettled_ > 0) {
    --unsettled_;
    return;
  }
  // An interrupt is no property of the way: slowly up, quickly down.
  if (cost_ == 0 || cost < cost_) {
    cost_ = cost_ == 0 ? cost : (cost_ + cost) / 2;
  } else {
    cost_ = (7 * cost_ + std::min(cost, 2 * cost_) + 7) / 8;
  }
  if (until_trial_ > 0) --until_trial_;
}

void ResultRoute::judge(std::uint64_t cost) {
  const Way trial = other(better_);
  if (wins(trial, cost, cost_)) {
    better_ = trial;
    cost_ = cost;
    interval_ = kFirstInterval;
  } else {
    interval_ = std::min(2 * interval_, kLongestInterval);
    unsettled_ = kTrialCalls - 1;
  }
  until_trial_ = interval_;
}

}  // namespace gyre
