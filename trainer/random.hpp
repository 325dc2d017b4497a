// Random numbers that are the same on every machine and for every number of ranks: a counter goes
// in, a well-mixed number comes out.
#pragma once

#include <cstdint>

namespace gyre::train {

// A bijection whose outputs pass for random (the finaliser of SplitMix64).
constexpr std::uint64_t mix(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

// In [0, 1), with 53 random bits.
constexpr double unit_interval(std::uint64_t random) {
  return static_cast<double>(random >> 11) * 0x1.0p-53;
}

}  // namespace gyre::train
