#include "bootstrap/interfaces.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sodium.h>
#include <sys/stat.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "base/log.hpp"
#include "base/process.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/wire.hpp"

namespace gyre {
namespace {

Result<std::vector<InterfaceAddress>> list_interfaces() {
  ifaddrs* list = nullptr;
  if (::getifaddrs(&list) != 0) return system_error("listing the network interfaces", errno);
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, ::freeifaddrs);
  std::vector<InterfaceAddress> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    const auto address = Address::from_sockaddr(entry->ifa_addr);
    if (!address) continue;
    // RUNNING is the carrier: a bridge without members or a cable pulled out does not have it.
    const bool running = (entry->ifa_flags & IFF_UP) != 0 && (entry->ifa_flags & IFF_RUNNING) != 0;
    found.push_back({entry->ifa_name, address->with_port(0), running});
  }
  return found;
}

// Leading bits that two addresses share; a stand-in for "in the same subnet" that needs no mask.
int common_bits(const Address& a, const Address& b) {
  if (a.family != b.family) return 0;
  int bits = 0;
  for (std::size_t i = 0; i < (a.family == AF_INET ? 4U : 16U); ++i) {
    const auto difference = static_cast<unsigned>(a.bytes[i] ^ b.bytes[i]);
    if (difference != 0) return bits + __builtin_clz(difference) - 24;
    bits += 8;
  }
  return bits;
}

bool near_comm_id(const Address& address, const Settings& settings) {
  const auto target = parse_host_port(settings.comm_id);
  if (!target || !target->numeric) return false;
  const auto resolved = resolve(*target, AF_UNSPEC);
  return resolved && !resolved->empty() &&
         common_bits(address, resolved->front()) >= (address.family == AF_INET ? 24 : 64);
}

enum Class { kInfiniband, kNearRoot, kOrdinary, kLinkLocal, kVirtual, kLoopback };

Class class_of(const InterfaceAddress& entry, const Settings& settings) {
  if (entry.address.is_loopback()) return kLoopback;
  if (entry.address.is_link_local()) return kLinkLocal;
  for (const std::string_view prefix : {"docker", "virbr", "lo"}) {
    if (entry.name.starts_with(prefix)) return kVirtual;
  }
  if (entry.name.starts_with("ib")) return kInfiniband;
  return near_comm_id(entry.address, settings) ? kNearRoot : kOrdinary;
}

int wanted_family(const Settings& settings) {
  if (settings.socket_family == "AF_INET") return AF_INET;
  if (settings.socket_family == "AF_INET6") return AF_INET6;
  return AF_UNSPEC;
}

std::string describe(std::span<const InterfaceAddress> found) {
  std::vector<std::string> texts;
  for (const auto& entry : found) {
    texts.push_back(
        fmt::format("{} {}{}", entry.name, entry.address.text(), entry.running ? "" : " (down)"));
  }
  return texts.empty() ? "none" : fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace

bool interface_matches(std::string_view pattern, std::string_view name) {
  const bool exclude = pattern.starts_with('^');
  if (exclude) pattern.remove_prefix(1);
  const bool exact = pattern.starts_with('=');
  if (exact) pattern.remove_prefix(1);
  bool listed = false;
  while (!pattern.empty()) {
    const std::size_t end = std::min(pattern.find(','), pattern.size());
    const std::string_view item = pattern.substr(0, end);
    if (!item.empty() && (exact ? name == item : name.starts_with(item))) listed = true;
    pattern.remove_prefix(std::min(end + 1, pattern.size()));
  }
  return listed != exclude;
}

std::vector<Address> preferred_addresses(std::span<const InterfaceAddress> found,
                                         const Settings& settings) {
  const int family = wanted_family(settings);
  const bool chosen = !settings.socket_ifname.empty();
  struct Candidate {
    Class rank;
    Address address;
  };
  std::vector<Candidate> candidates;
  for (const InterfaceAddress& entry : found) {
    if (!entry.running) continue;
    if (family != AF_UNSPEC && entry.address.family != family) continue;
    if (chosen && !interface_matches(settings.socket_ifname, entry.name)) continue;
    candidates.push_back({class_of(entry, settings), entry.address});
  }
  // Addresses of virtual bridges are the same on many hosts: only when there is nothing better,
  // or when the user asks for them.
  const bool real = std::any_of(candidates.begin(), candidates.end(),
                                [](const Candidate& c) { return c.rank < kLinkLocal; });
  std::stable_sort(candidates.begin(), candidates.end(),
                   [](const Candidate& a, const Candidate& b) { return a.rank < b.rank; });
  std::vector<Address> addresses;
  for (const Candidate& candidate : candidates) {
    if (candidate.rank == kVirtual && real && !chosen) continue;
    addresses.push_back(candidate.address);
  }
  return addresses;
}

Result<std::vector<Address>> local_addresses(const Settings& settings) {
  GYRE_TRY_ASSIGN(const auto found, list_interfaces());
  auto addresses = preferred_addresses(found, settings);
  if (addresses.empty()) {
    return Error{Status::invalid_argument,
                 fmt::format("no usable network address (NCCL_SOCKET_IFNAME=\"{}\", "
                             "NCCL_SOCKET_FAMILY=\"{}\"); this machine has: {}",
                             settings.socket_ifname, settings.socket_family, describe(found))};
  }
  return addresses;
}

std::uint64_t network_identity() {
  static const std::uint64_t identity = [] {
    struct stat space {};
    const bool known = ::stat("/proc/self/ns/net", &space) == 0;
    const std::string boot = boot_id();
    WireWriter text;
    text.text(boot.empty() ? host_name() : boot);
    text.number(known ? static_cast<std::uint64_t>(space.st_ino) : std::uint64_t{0});
    const auto bytes = text.take();
    std::array<std::uint8_t, 16> hash{};
    ::crypto_generichash(hash.data(), hash.size(),
                         reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
                         nullptr, 0);
    return WireReader(std::as_bytes(std::span(hash))).number<std::uint64_t>();
  }();
  return identity;
}

Result<Endpoint> local_endpoint() {
  if (!settings()) return settings().error();
  GYRE_TRY_ASSIGN(const std::uint16_t port, Listener::instance().port());
  GYRE_TRY_ASSIGN(auto addresses, local_addresses(*settings()));
  if (addresses.size() > kMaxEndpointAddresses) {
    // Loopback stays: it is what works when nothing else does.
    std::rotate(addresses.begin() + (kMaxEndpointAddresses - 2), addresses.end() - 2,
                addresses.end());
    addresses.resize(kMaxEndpointAddresses);
  }
  for (Address& address : addresses) address.port = port;
  static std::once_flag logged;
  std::call_once(logged, [&] {
    log_info(Subsystem::bootstrap, "listening on port {}; addresses by preference: {}", port,
             text_of(addresses));
  });
  return Endpoint{network_identity(), std::move(addresses)};
}

std::vector<std::byte> encode(const Endpoint& endpoint) {
  WireWriter writer;
  writer.number(endpoint.network);
  writer.number(static_cast<std::uint8_t>(endpoint.addresses.size()));
  for (const Address& address : endpoint.addresses) {
    const bool v4 = address.family == AF_INET;
    writer.number(static_cast<std::uint8_t>(v4 ? 4 : 6));
    writer.number(address.port);
    writer.raw(std::span(address.bytes).first(v4 ? 4 : 16));
    if (!v4) writer.number(address.scope);
  }
  return writer.take();
}

Result<Endpoint> decode_endpoint(std::span<const std::byte> bytes) {
  const Error malformed{Status::invalid_argument, "a peer's endpoint is malformed"};
  WireReader reader(bytes);
  Endpoint endpoint;
  endpoint.network = reader.number<std::uint64_t>();
  const auto count = reader.number<std::uint8_t>();
  if (count > kMaxEndpointAddresses) return malformed;
  for (std::uint8_t i = 0; i < count && !reader.failed(); ++i) {
    const auto kind = reader.number<std::uint8_t>();
    if (kind != 4 && kind != 6) return malformed;
    Address address = Address::any(kind == 4 ? AF_INET : AF_INET6);
    address.port = reader.number<std::uint16_t>();
    const auto raw = reader.raw(kind == 4 ? 4 : 16);
    if (!raw.empty()) std::memcpy(address.bytes.data(), raw.data(), raw.size());
    if (kind == 6) address.scope = reader.number<std::uint32_t>();
    endpoint.addresses.push_back(address);
  }
  if (!reader.complete()) return malformed;
  return endpoint;
}

std::vector<Address> reachable(const Endpoint& endpoint) {
  const bool same = endpoint.network == network_identity();
  std::vector<Address> loopback;
  std::vector<Address> others;
  std::vector<Address> link_local;
  for (const Address& address : endpoint.addresses) {
    if (address.is_loopback()) {
      if (same) loopback.push_back(address);
    } else if (address.is_link_local() && (!same || address.scope == 0)) {
      link_local.push_back(address);
    } else {
      others.push_back(address);
    }
  }
  if (!link_local.empty()) {
    // A peer's interface index means nothing here, and an id has no room for it: the address may be
    // on any of our links.
    std::set<std::uint32_t> scopes;
    if (const auto own = list_interfaces()) {
      for (const auto& entry : *own) {
        if (entry.running && entry.address.is_link_local()) scopes.insert(entry.address.scope);
      }
    }
    for (const Address& address : link_local) {
      for (const std::uint32_t scope : scopes) {
        others.push_back(address);
        others.back().scope = scope;
      }
    }
  }
  loopback.insert(loopback.end(), others.begin(), others.end());
  return loopback;
}

}  // namespace gyre
