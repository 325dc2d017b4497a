#include "bootstrap/unique_id.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <cstring>

#include "base/log.hpp"
#include "base/process.hpp"
#include "base/settings.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/hub.hpp"
#include "bootstrap/launcher.hpp"
#include "bootstrap/wire.hpp"

namespace gyre {
namespace {

// The 128 bytes: magic 8, flags 1, count 1, port 2, nonce 16, secret 16, network 8, addresses of 5
// (IPv4) or 17 (IPv6) bytes each, zeros, and a checksum of 4 at the end.
constexpr std::array<std::uint8_t, 8> kMagic = {'G', 'Y', 'R', 'E', 'i', 'd', '0', '1'};
constexpr std::size_t kSumBytes = 4;
constexpr std::size_t kAddressesEnd = sizeof(UniqueId) - kSumBytes;
constexpr std::size_t kHeaderBytes = 8 + 1 + 1 + 2 + 16 + 16 + 8;
constexpr std::uint8_t kFixedPort = 1;

std::array<std::uint8_t, kSumBytes> checksum(std::span<const std::byte> bytes) {
  std::array<std::uint8_t, crypto_generichash_BYTES_MIN> hash{};
  ::crypto_generichash(hash.data(), hash.size(),
                       reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), nullptr,
                       0);
  std::array<std::uint8_t, kSumBytes> sum{};
  std::copy_n(hash.begin(), sum.size(), sum.begin());
  return sum;
}

std::size_t encoded_bytes(const Address& address) { return address.family == AF_INET ? 5 : 17; }

// The most preferred addresses that fit, and room for loopback, which comes last.
std::vector<Address> fitting(const std::vector<Address>& addresses) {
  std::size_t room = kAddressesEnd - kHeaderBytes;
  std::vector<Address> chosen;
  for (const Address& address : addresses) {
    if (address.is_loopback() && encoded_bytes(address) <= room) room -= encoded_bytes(address);
  }
  std::size_t loopback_room = kAddressesEnd - kHeaderBytes - room;
  for (const Address& address : addresses) {
    std::size_t& available = address.is_loopback() ? loopback_room : room;
    if (encoded_bytes(address) > available) continue;
    available -= encoded_bytes(address);
    chosen.push_back(address);
  }
  return chosen;
}

template <std::size_t N>
void derive(std::array<std::uint8_t, N>& out, std::string_view label, std::string_view text) {
  const std::string all = fmt::format("{}\n{}", label, text);
  ::crypto_generichash(out.data(), out.size(), reinterpret_cast<const unsigned char*>(all.data()),
                       all.size(), nullptr, 0);
}

}  // namespace

UniqueId encode(const IdContents& contents) {
  const auto addresses = fitting(contents.root.addresses);
  WireWriter writer;
  writer.raw(std::span<const std::uint8_t>(kMagic));
  writer.number(contents.fixed_port ? kFixedPort : std::uint8_t{0});
  writer.number(static_cast<std::uint8_t>(addresses.size()));
  writer.number(addresses.empty() ? std::uint16_t{0} : addresses.front().port);
  writer.raw(std::span<const std::uint8_t>(contents.key.nonce));
  writer.raw(std::span<const std::uint8_t>(contents.key.secret));
  writer.number(contents.root.network);
  for (const Address& address : addresses) {
    const bool v4 = address.family == AF_INET;
    writer.number(static_cast<std::uint8_t>(v4 ? 4 : 6));
    writer.raw(std::span(address.bytes).first(v4 ? 4 : 16));
  }
  const auto bytes = writer.take();
  UniqueId id;
  std::copy(bytes.begin(), bytes.end(), id.bytes.begin());
  const auto sum = checksum(std::span(id.bytes).first(kAddressesEnd));
  std::memcpy(id.bytes.data() + kAddressesEnd, sum.data(), sum.size());
  return id;
}

Result<IdContents> decode(const UniqueId& id) {
  const auto refuse = [](std::string_view why) {
    return Error{
        Status::invalid_argument,
        fmt::format("this unique id was not made by this version of Gyre, or was damaged on "
                    "its way ({}): hand over all 128 bytes of it unchanged, from a rank that "
                    "runs the same library",
                    why)};
  };
  const std::span<const std::byte> bytes(id.bytes);
  WireReader reader(bytes.first(kAddressesEnd));
  if (reader.array<8>() != kMagic) return refuse("no magic");
  const auto sum = checksum(bytes.first(kAddressesEnd));
  if (std::memcmp(sum.data(), bytes.data() + kAddressesEnd, sum.size()) != 0) {
    return refuse("wrong checksum");
  }
  IdContents contents;
  const auto flags = reader.number<std::uint8_t>();
  const auto count = reader.number<std::uint8_t>();
  const auto port = reader.number<std::uint16_t>();
  contents.fixed_port = flags == kFixedPort;
  contents.key.nonce = reader.array<16>();
  contents.key.secret = reader.array<16>();
  contents.root.network = reader.number<std::uint64_t>();
  if (flags > kFixedPort || count == 0 || port == 0) return refuse("no address");
  for (std::uint8_t i = 0; i < count; ++i) {
    const auto kind = reader.number<std::uint8_t>();
    Address address = Address::any(kind == 4 ? AF_INET : AF_INET6);
    const auto raw = reader.raw(kind == 4 ? 4 : 16);
    if (reader.failed() || (kind != 4 && kind != 6)) return refuse("bad address");
    std::memcpy(address.bytes.data(), raw.data(), raw.size());
    contents.root.addresses.push_back(address.with_port(port));
  }
  return contents;
}

Result<UniqueId> create_unique_id() {
  GYRE_TRY(refuse_in_child());
  GYRE_TRY_ASSIGN(Endpoint root, local_endpoint());
  const JobKey key = random_job_key();
  GYRE_TRY(Hub::start({key, Purpose::rendezvous, 0, std::nullopt}));
  return encode(IdContents{key, std::move(root), false});
}

Result<UniqueId> unique_id_for(std::string_view host_port) {
  if (!settings()) return settings().error();
  return unique_id_for(host_port, Deadline::after(milliseconds(settings()->init_timeout_ms)),
                       nullptr);
}

Result<UniqueId> unique_id_for(std::string_view host_port, Deadline deadline,
                               const AbortState* abort) {
  GYRE_TRY(refuse_in_child());
  if (!settings()) return settings().error();
  GYRE_TRY_ASSIGN(const HostPort target, parse_host_port(host_port));
  const std::string& family = settings()->socket_family;
  const int wanted = family == "AF_INET" ? AF_INET : family == "AF_INET6" ? AF_INET6 : AF_UNSPEC;
  GYRE_TRY_ASSIGN(auto addresses, resolve(target, wanted, deadline, abort));
  if (addresses.empty()) {
    return Error{Status::invalid_argument,
                 fmt::format("\"{}\" has no address of family {}", host_port, family)};
  }
  IdContents contents;
  const std::string text = fmt::format("{}\n{}", host_port, launcher_job_name());
  derive(contents.key.nonce, "gyre fixed port: nonce", text);
  derive(contents.key.secret, "gyre fixed port: secret", text);
  contents.fixed_port = true;
  // Each process looked the host up for itself: what it found is meant for this very network.
  contents.root = {network_identity(), std::move(addresses)};
  return encode(contents);
}

std::string launcher_job_name() { return job_name(process_environment(), parent_identity()); }

}  // namespace gyre
