// The handshake's messages: whatever decodes, encodes to the same bytes; no mac of other bytes is
// accepted.
#include <algorithm>
#include <array>
#include <cstring>

#include "bootstrap/handshake.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gyre::fuzz::require;
  std::array<std::uint8_t, gyre::kOpeningBytes> opening_bytes{};
  std::memcpy(opening_bytes.data(), data, std::min(size, opening_bytes.size()));
  if (const auto opening = gyre::decode_opening(opening_bytes)) {
    require(gyre::encode(*opening) == opening_bytes);
    const gyre::Secret secret{1, 2, 3};
    const auto mac = gyre::handshake_mac(secret, gyre::Label::dial, *opening, opening->dialer);
    require(!gyre::equal_macs(
        mac, gyre::handshake_mac(secret, gyre::Label::accept, *opening, opening->dialer)));
    gyre::Mac claimed{};
    if (size > opening_bytes.size()) {
      std::memcpy(claimed.data(), data + opening_bytes.size(),
                  std::min(size - opening_bytes.size(), claimed.size()));
    }
    require(gyre::equal_macs(mac, claimed) == (mac == claimed));
  }
  std::array<std::uint8_t, gyre::kChallengeBytes> challenge_bytes{};
  std::memcpy(challenge_bytes.data(), data, std::min(size, challenge_bytes.size()));
  require(gyre::encode(gyre::decode_challenge(challenge_bytes)) == challenge_bytes);
  return 0;
}
