// How two processes prove to each other that they know a job's secret, before anything else that
// one of them sent is looked at. Pure functions over fixed-size messages; no I/O.
//
//   dialer                               listener
//   Opening{magic, hello, job nonce, n1} ->
//                                        <- Challenge{n2, mac("accept")}
//   Proof{mac("dial")}                   ->
//                                        <- Welcome{mac("welcome")}
//
// Each mac is a keyed BLAKE2b under the secret over its label, both nonces, the job nonce and the
// hello. The dialer sends its Proof on one connection only, so a listener that sees a valid Proof
// knows that this is the connection the dialer chose among its candidates.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "base/status.hpp"
#include "bootstrap/job_key.hpp"

namespace gyre {

// What a connection is for.
enum class Purpose : std::uint8_t { rendezvous = 0, control = 1, lane = 2 };
inline constexpr int kPurposes = 3;
std::string_view name_of(Purpose purpose);

// Who dials whom; covered by the macs. `index` tells several connections of one pair apart.
struct Hello {
  Purpose purpose = Purpose::control;
  std::uint32_t from_rank = 0;
  std::uint32_t to_rank = 0;
  std::uint32_t index = 0;

  bool operator==(const Hello&) const = default;
};

using ConnectionNonce = std::array<std::uint8_t, 32>;
using Mac = std::array<std::uint8_t, 32>;

inline constexpr std::size_t kOpeningBytes = 8 + 16 + 16 + 32;
inline constexpr std::size_t kChallengeBytes = 32 + 32;
inline constexpr std::size_t kProofBytes = 32;
inline constexpr std::size_t kWelcomeBytes = 32;

struct Opening {
  Hello hello;
  Nonce job{};
  ConnectionNonce dialer{};

  bool operator==(const Opening&) const = default;
};

struct Challenge {
  ConnectionNonce listener{};
  Mac mac{};
};

std::array<std::uint8_t, kOpeningBytes> encode(const Opening& opening);
// Error unless the bytes are exactly what encode() writes.
Result<Opening> decode_opening(std::span<const std::uint8_t, kOpeningBytes> bytes);
std::array<std::uint8_t, kChallengeBytes> encode(const Challenge& challenge);
Challenge decode_challenge(std::span<const std::uint8_t, kChallengeBytes> bytes);

enum class Label : std::uint8_t { accept, dial, welcome };
Mac handshake_mac(const Secret& secret, Label label, const Opening& opening,
                  const ConnectionNonce& listener);
bool equal_macs(const Mac& a, const Mac& b);  // in constant time

// Cryptographically random bytes.
void fill_random(std::span<std::uint8_t> bytes);
JobKey random_job_key();

}  // namespace gyre
