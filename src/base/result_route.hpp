// Which way the results of a call go into memory: through the caches of the core, or past them.
//
// Past them no line is fetched to be overwritten, and none that is of use is thrown out: from and
// to memory that no cache holds, all-reduces of 2 ranks take two thirds of the time. A call that is
// made on the same buffers again and again, all of which the caches hold, takes twice as long that
// way. No size says which it is, so both are tried.
//
// Each way changes what the caches hold for the next call, so a trial is several calls, of which
// the last one counts. One thread at a time; no allocation, no system call.
#pragma once

#include <cstdint>

#include "base/store_route.hpp"
#include "base/ticks.hpp"

namespace gyre {

class ResultRoute {
 public:
  using Way = StoreRoute::Way;

  explicit ResultRoute(Way first = Way::through) : better_(first) {}

  // For the next call. Any number may be under way before the first one's end is told: the calls
  // of a group are.
  Way next();
  // How long a call that went that way and wrote results of `bytes` moved data. Not told of calls
  // that failed.
  void took(Way way, std::uint64_t bytes, Ticks ticks);

  Way better() const { return better_; }

  static constexpr std::uint32_t kTrialCalls = 3;
  // Calls between trials: at first, and after many that changed nothing.
  static constexpr std::uint32_t kFirstInterval = 16, kLongestInterval = 1024;

 private:
  void judge(std::uint64_t cost);

  Way better_;
  std::uint32_t interval_ = kFirstInterval;
  std::uint32_t until_trial_ = kFirstInterval;
  std::uint32_t to_begin_ = 0;    // calls of the trial that next() has yet to give its way
  std::uint32_t to_hear_of_ = 0;  // and whose end is yet to be told
  std::uint32_t unsettled_ = 0;   // calls whose caches the trial before them still changed
  std::uint64_t cost_ = 0;        // ticks per KiB of the better way, smoothed; 0: not known
};

}  // namespace gyre
