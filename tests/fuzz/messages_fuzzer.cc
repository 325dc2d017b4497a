// Every payload decoder, and the endpoint's: what decodes, encodes to the same bytes.
#include <algorithm>

#include "bootstrap/interfaces.hpp"
#include "bootstrap/messages.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

namespace {

template <typename Message>
void check(const gyre::Result<Message>& message, std::span<const std::byte> payload) {
  if (!message) return;
  const auto encoded = gyre::encode(*message);
  gyre::fuzz::require(std::equal(encoded.begin(), encoded.end(), payload.begin(), payload.end()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto payload = gyre::fuzz::bytes(data, size);
  const auto join = gyre::decode_join(payload);
  // Of another version only the version is looked at.
  if (join && join->version == gyre::kBootstrapVersion) check(join, payload);
  if (join && join->version == gyre::kBootstrapVersion) {
    gyre::fuzz::require(join->rank < join->world);
  }
  check(gyre::decode_part(payload), payload);
  check(gyre::decode_error(payload), payload);
  check(gyre::decode_rank(payload), payload);
  check(gyre::decode_answers(payload), payload);
  check(gyre::decode_parts(payload), payload);
  check(gyre::decode_endpoint(payload), payload);
  if (const auto patience = gyre::decode_patience(payload)) {
    gyre::fuzz::require(gyre::encode_patience(*patience).size() == size);
  }
  return 0;
}
