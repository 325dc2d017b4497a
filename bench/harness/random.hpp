// Reproducible random bits, addressed by position so that any part of a buffer can be made alone.
#pragma once

#include <cstdint>

namespace gyre::bench {

inline constexpr std::uint64_t kGolden = 0x9e3779b97f4a7c15ULL;

// A bijection of 64 bits in which every input bit stirs every output bit.
constexpr std::uint64_t mix(std::uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93ULL;
  return x ^ (x >> 32);
}

// Random bits of position (a, b).
constexpr std::uint64_t random_at(std::uint64_t a, std::uint64_t b) {
  return mix(mix(a + kGolden) ^ (b * kGolden));
}

// Evenly spread over [0, bound), from the upper bits of `bits`. bound < 2^63.
constexpr std::uint64_t bounded(std::uint64_t bits, std::uint64_t bound) {
  return static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * bound) >> 64);
}

}  // namespace gyre::bench
