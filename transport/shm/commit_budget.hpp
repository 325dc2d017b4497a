// How much memory of regions may be there before anybody touches it.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/headroom.hpp"

namespace gyre {

// A quarter of what the process has and could have, so that memory of which little is used never
// brings it, or others of its control group, to the end of theirs. Thread-safe.
class CommitBudget {
 public:
  // Larger allocations are the likeliest to be used in part.
  static constexpr std::size_t kMostAtOnce = std::size_t{256} << 20;

  // Whether `bytes` may be committed; if so, they count until they are given back.
  bool take(std::size_t bytes) {
    if (bytes > kMostAtOnce) return false;
    const std::uint64_t before = committed_.fetch_add(bytes, std::memory_order_relaxed);
    if (before + bytes <= (memory_headroom() + before) / 4) return true;
    give_back(bytes);
    return false;
  }
  void give_back(std::size_t bytes) { committed_.fetch_sub(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> committed_{0};
};

}  // namespace gyre
