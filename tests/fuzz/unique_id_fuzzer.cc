// Unique ids: damaged ones are refused, and those that decode encode to the same bytes. The second
// half of the inputs starts from a valid id, whose checksum random bytes would never meet.
#include <algorithm>
#include <cstring>

#include "bootstrap/unique_id.hpp"
#include "tests/fuzz/fuzz_bootstrap.hpp"

namespace {

gyre::IdContents contents_from(std::span<const std::uint8_t> data) {
  gyre::IdContents contents;
  std::copy_n(data.begin(), std::min<std::size_t>(data.size(), 16), contents.key.secret.begin());
  for (std::size_t at = 0; at + 17 <= data.size() && contents.root.addresses.size() < 20;
       at += 17) {
    gyre::Address address = gyre::Address::any(data[at] % 2 == 0 ? AF_INET : AF_INET6);
    const std::size_t length = address.family == AF_INET ? 4 : 16;
    std::copy_n(data.begin() + static_cast<std::ptrdiff_t>(at + 1), length, address.bytes.begin());
    contents.root.addresses.push_back(address.with_port(4242));
  }
  return contents;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using gyre::fuzz::require;
  gyre::UniqueId raw;
  std::memcpy(raw.bytes.data(), data, std::min(size, raw.bytes.size()));
  if (const auto contents = gyre::decode(raw)) require(gyre::encode(*contents) == raw);
  const gyre::IdContents contents = contents_from(std::span(data, size));
  const gyre::UniqueId id = gyre::encode(contents);
  const auto back = gyre::decode(id);
  require(static_cast<bool>(back) == !contents.root.addresses.empty());
  if (back) {
    require(back->key == contents.key && gyre::encode(*back) == id);
    gyre::UniqueId damaged = id;
    damaged.bytes[size % damaged.bytes.size()] ^= std::byte{0x40};
    require(!gyre::decode(damaged));
  }
  return 0;
}
