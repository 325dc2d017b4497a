// FNV-1a: tells texts and numbers apart, quickly and the same everywhere; no protection against an
// adversary.
#pragma once

#include <cstdint>
#include <string_view>

namespace gyre {

class Fnv {
 public:
  constexpr void add(std::uint8_t byte) { state_ = (state_ ^ byte) * 0x100000001b3ULL; }
  constexpr void add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint8_t>(c));
  }
  constexpr void add_number(std::uint64_t value) {
    for (int i = 0; i < 8; ++i) add(static_cast<std::uint8_t>(value >> (8 * i)));
  }
  constexpr std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0xcbf29ce484222325ULL;
};

}  // namespace gyre
