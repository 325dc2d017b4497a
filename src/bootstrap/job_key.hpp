// What names and protects the connections of one communicator.
#pragma once

#include <array>
#include <compare>
#include <cstdint>

namespace gyre {

using Nonce = std::array<std::uint8_t, 16>;
using Secret = std::array<std::uint8_t, 16>;

struct JobKey {
  Nonce nonce{};    // public: says which secret a connection is about
  Secret secret{};  // never sent; both sides prove that they know it

  auto operator<=>(const JobKey&) const = default;
};

}  // namespace gyre
