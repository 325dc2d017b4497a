// Helpers of the bootstrap's fuzzers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <string_view>

namespace gyre::fuzz {

inline std::span<const std::byte> bytes(const std::uint8_t* data, std::size_t size) {
  return std::as_bytes(std::span(data, size));
}

inline std::string_view text(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

// A property that must hold for every input.
inline void require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace gyre::fuzz
