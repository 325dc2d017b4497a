#include "bootstrap/handshake.hpp"

#include <sodium.h>

#include <algorithm>
#include <cstdlib>

#include "bootstrap/wire.hpp"

namespace gyre {
namespace {

// The last digit is the version of these messages.
constexpr std::array<std::uint8_t, 8> kMagic = {'G', 'Y', 'R', 'E', 'h', 's', '0', '1'};

template <std::size_t N>
std::array<std::uint8_t, N> to_array(WireWriter& writer) {
  std::array<std::uint8_t, N> result{};
  const auto bytes = writer.take();
  std::memcpy(result.data(), bytes.data(), std::min(N, bytes.size()));
  return result;
}

void write_hello(WireWriter& writer, const Hello& hello) {
  writer.number(static_cast<std::uint32_t>(hello.purpose));
  writer.number(hello.from_rank);
  writer.number(hello.to_rank);
  writer.number(hello.index);
}

}  // namespace

std::string_view name_of(Purpose purpose) {
  constexpr std::array<std::string_view, kPurposes> kNames = {"rendezvous", "control", "lane"};
  return kNames[static_cast<std::size_t>(purpose)];
}

std::array<std::uint8_t, kOpeningBytes> encode(const Opening& opening) {
  WireWriter writer;
  writer.raw(std::span<const std::uint8_t>(kMagic));
  write_hello(writer, opening.hello);
  writer.raw(std::span<const std::uint8_t>(opening.job));
  writer.raw(std::span<const std::uint8_t>(opening.dialer));
  return to_array<kOpeningBytes>(writer);
}

Result<Opening> decode_opening(std::span<const std::uint8_t, kOpeningBytes> bytes) {
  WireReader reader(std::as_bytes(bytes));
  const auto magic = reader.array<8>();
  const auto purpose = reader.number<std::uint32_t>();
  if (magic != kMagic || purpose >= kPurposes) {
    return Error{Status::invalid_argument, "not the opening of a Gyre connection"};
  }
  Opening opening;
  opening.hello.purpose = static_cast<Purpose>(purpose);
  opening.hello.from_rank = reader.number<std::uint32_t>();
  opening.hello.to_rank = reader.number<std::uint32_t>();
  opening.hello.index = reader.number<std::uint32_t>();
  opening.job = reader.array<16>();
  opening.dialer = reader.array<32>();
  return opening;
}

std::array<std::uint8_t, kChallengeBytes> encode(const Challenge& challenge) {
  WireWriter writer;
  writer.raw(std::span<const std::uint8_t>(challenge.listener));
  writer.raw(std::span<const std::uint8_t>(challenge.mac));
  return to_array<kChallengeBytes>(writer);
}

Challenge decode_challenge(std::span<const std::uint8_t, kChallengeBytes> bytes) {
  WireReader reader(std::as_bytes(bytes));
  Challenge challenge;
  challenge.listener = reader.array<32>();
  challenge.mac = reader.array<32>();
  return challenge;
}

Mac handshake_mac(const Secret& secret, Label label, const Opening& opening,
                  const ConnectionNonce& listener) {
  WireWriter writer;
  writer.raw(std::span<const std::uint8_t>(kMagic));
  writer.number(static_cast<std::uint32_t>(label));
  write_hello(writer, opening.hello);
  writer.raw(std::span<const std::uint8_t>(opening.job));
  writer.raw(std::span<const std::uint8_t>(opening.dialer));
  writer.raw(std::span<const std::uint8_t>(listener));
  const auto text = writer.take();
  Mac mac{};
  static_assert(crypto_generichash_KEYBYTES_MIN <= sizeof(Secret));
  ::crypto_generichash(mac.data(), mac.size(), reinterpret_cast<const unsigned char*>(text.data()),
                       text.size(), secret.data(), secret.size());
  return mac;
}

bool equal_macs(const Mac& a, const Mac& b) {
  return ::sodium_memcmp(a.data(), b.data(), a.size()) == 0;
}

void fill_random(std::span<std::uint8_t> bytes) {
  // Without random numbers no secret is one; sodium_init fails only if there is no source of them.
  static const int ready = ::sodium_init();
  if (ready < 0) std::abort();
  ::randombytes_buf(bytes.data(), bytes.size());
}

JobKey random_job_key() {
  JobKey key;
  fill_random(key.nonce);
  fill_random(key.secret);
  return key;
}

}  // namespace gyre
