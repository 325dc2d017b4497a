// An IPv4 or IPv6 address with a port: a plain value, comparable, printable, and encodable.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"

namespace gyre {

struct Address {
  int family = AF_INET;                  // AF_INET or AF_INET6
  std::array<std::uint8_t, 16> bytes{};  // network order; IPv4 uses the first four
  std::uint32_t scope = 0;               // interface index of an IPv6 link-local address
  std::uint16_t port = 0;                // host order

  bool operator==(const Address&) const = default;

  bool is_loopback() const;
  bool is_link_local() const;  // IPv6 fe80::/10 only
  bool is_any() const;
  Address with_port(std::uint16_t new_port) const;
  // "192.0.2.1:80", "[fe80::1%2]:80"; without the port (and brackets) when it is 0.
  std::string text() const;

  // Fills `storage` and returns the length for connect(2) or bind(2).
  socklen_t to_sockaddr(sockaddr_storage& storage) const;
  // IPv4-mapped IPv6 addresses become IPv4. Other families: invalid_argument.
  static Result<Address> from_sockaddr(const sockaddr* address);
  static Address loopback(int family);
  static Address any(int family);
};

// "host:port", "1.2.3.4:port" or "[v6]:port" taken apart, without looking anything up.
struct HostPort {
  std::string host;
  std::uint16_t port = 0;
  bool numeric = false;  // `host` is an address, not a name
};
Result<HostPort> parse_host_port(std::string_view text);

// Every address of a host (getaddrinfo, may block on DNS), with `target.port`. `family` is
// AF_UNSPEC, AF_INET or AF_INET6.
Result<std::vector<Address>> resolve(const HostPort& target, int family);
// The same for a host that may become known later (that of a pod which is still starting): a name
// that is not known, or not now, is looked up again until the deadline or an abort.
Result<std::vector<Address>> resolve(const HostPort& target, int family, Deadline deadline,
                                     const AbortState* abort);

// "a, b, c" for messages.
std::string text_of(const std::vector<Address>& addresses);

}  // namespace gyre
