// What ranks tell each other when they meet: what is read as this version's, encodes to the same
// bytes.
#include <algorithm>

#include "comm/facts.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto payload = gyre::fuzz::bytes(data, size);
  const auto facts = gyre::decode_facts(payload);
  if (!facts || facts->wire_version != gyre::kWireVersion) return 0;
  const auto encoded = gyre::encode(*facts);
  gyre::fuzz::require(std::equal(encoded.begin(), encoded.end(), payload.begin(), payload.end()));
  return 0;
}
