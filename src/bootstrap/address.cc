#include "bootstrap/address.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>
#include <system_error>
#include <utility>

#include "base/log.hpp"
#include "base/parse_value.hpp"

namespace gyre {
namespace {

// How long until a host that is not known is looked up again.
constexpr milliseconds kLookAgain{500};
constexpr milliseconds kAbortCheck{50};
constexpr std::array<std::uint8_t, 12> kMappedPrefix = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

bool is_numeric(const std::string& host) {
  in6_addr ignored{};
  const std::string bare = host.substr(0, host.find('%'));
  return ::inet_pton(AF_INET, host.c_str(), &ignored) == 1 ||
         ::inet_pton(AF_INET6, bare.c_str(), &ignored) == 1;
}

// getaddrinfo's error, or 0.
int look_up(const HostPort& target, int family, std::vector<Address>& addresses) {
  addrinfo hints{};
  hints.ai_family = family;
  hints.ai_socktype = SOCK_STREAM;
  if (target.numeric) hints.ai_flags = AI_NUMERICHOST;
  addrinfo* list = nullptr;
  if (const int error = ::getaddrinfo(target.host.c_str(), nullptr, &hints, &list); error != 0) {
    return error;
  }
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, ::freeaddrinfo);
  for (const addrinfo* entry = list; entry != nullptr; entry = entry->ai_next) {
    const auto address = Address::from_sockaddr(entry->ai_addr);
    if (!address) continue;
    const Address with_port = address->with_port(target.port);
    if (std::find(addresses.begin(), addresses.end(), with_port) == addresses.end()) {
      addresses.push_back(with_port);
    }
  }
  return 0;
}

Error unknown_host(const HostPort& target, int error, int system) {
  const std::string why = error == EAI_SYSTEM ? std::generic_category().message(system)
                                              : std::string(::gai_strerror(error));
  return {Status::system, fmt::format("looking up host \"{}\": {} (it is named by NCCL_COMM_ID, "
                                      "MASTER_ADDR, a tcp:// address or else the launcher's list "
                                      "of nodes)",
                                      target.host, why)};
}

}  // namespace

bool Address::is_loopback() const {
  if (family == AF_INET) return bytes[0] == 127;
  return std::all_of(bytes.begin(), bytes.end() - 1, [](auto b) { return b == 0; }) &&
         bytes[15] == 1;
}

bool Address::is_link_local() const {
  return family == AF_INET6 && bytes[0] == 0xfe && (bytes[1] & 0xc0) == 0x80;
}

bool Address::is_any() const {
  return std::all_of(bytes.begin(), bytes.end(), [](auto b) { return b == 0; });
}

Address Address::with_port(std::uint16_t new_port) const {
  Address copy = *this;
  copy.port = new_port;
  return copy;
}

std::string Address::text() const {
  std::array<char, INET6_ADDRSTRLEN> buffer{};
  ::inet_ntop(family, bytes.data(), buffer.data(), buffer.size());
  std::string host(buffer.data());
  if (scope != 0) host += fmt::format("%{}", scope);
  if (port == 0) return host;
  return family == AF_INET6 ? fmt::format("[{}]:{}", host, port) : fmt::format("{}:{}", host, port);
}

socklen_t Address::to_sockaddr(sockaddr_storage& storage) const {
  storage = {};
  if (family == AF_INET) {
    sockaddr_in v4{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    std::memcpy(&v4.sin_addr, bytes.data(), sizeof v4.sin_addr);
    std::memcpy(&storage, &v4, sizeof v4);
    return sizeof v4;
  }
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  v6.sin6_scope_id = scope;
  std::memcpy(&v6.sin6_addr, bytes.data(), sizeof v6.sin6_addr);
  std::memcpy(&storage, &v6, sizeof v6);
  return sizeof v6;
}

Result<Address> Address::from_sockaddr(const sockaddr* address) {
  Address result;
  if (address != nullptr && address->sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, address, sizeof v4);
    std::memcpy(result.bytes.data(), &v4.sin_addr, sizeof v4.sin_addr);
    result.port = ntohs(v4.sin_port);
    return result;
  }
  if (address == nullptr || address->sa_family != AF_INET6) {
    return Error{Status::invalid_argument, "neither an IPv4 nor an IPv6 address"};
  }
  sockaddr_in6 v6{};
  std::memcpy(&v6, address, sizeof v6);
  std::memcpy(result.bytes.data(), &v6.sin6_addr, sizeof v6.sin6_addr);
  result.port = ntohs(v6.sin6_port);
  if (std::equal(kMappedPrefix.begin(), kMappedPrefix.end(), result.bytes.begin())) {
    std::rotate(result.bytes.begin(), result.bytes.begin() + 12, result.bytes.end());
    std::fill(result.bytes.begin() + 4, result.bytes.end(), std::uint8_t{0});
    return result;
  }
  result.family = AF_INET6;
  if (result.is_link_local()) result.scope = v6.sin6_scope_id;
  return result;
}

Address Address::loopback(int family) {
  Address result;
  result.family = family;
  if (family == AF_INET) {
    result.bytes = {127, 0, 0, 1};
  } else {
    result.bytes[15] = 1;
  }
  return result;
}

Address Address::any(int family) {
  Address result;
  result.family = family;
  return result;
}

Result<HostPort> parse_host_port(std::string_view text) {
  auto parts = parse_host_text(text);
  if (!parts) {
    return Error{Status::invalid_argument,
                 fmt::format("\"{}\" is not host:port, 1.2.3.4:port or [v6]:port", text)};
  }
  const bool numeric = is_numeric(parts->host);
  return HostPort{std::move(parts->host), parts->port, numeric};
}

Result<std::vector<Address>> resolve(const HostPort& target, int family) {
  std::vector<Address> addresses;
  if (const int error = look_up(target, family, addresses); error != 0) {
    return unknown_host(target, error, errno);
  }
  return addresses;
}

Result<std::vector<Address>> resolve(const HostPort& target, int family, Deadline deadline,
                                     const AbortState* abort) {
  std::vector<Address> addresses;
  bool told = false;
  for (;;) {
    const int error = look_up(target, family, addresses);
    if (error == 0) return addresses;
    const Error unknown = unknown_host(target, error, errno);
    const bool passing = error == EAI_AGAIN || (error == EAI_NONAME && !target.numeric);
    if (!passing || deadline.expired()) return unknown;
    if (!std::exchange(told, true)) log_warn("{}; trying again", unknown.text);
    const Deadline next = deadline.earlier(Deadline::after(kLookAgain));
    while (!next.expired()) {
      if (abort != nullptr && abort->raised()) return abort->reason();
      ::poll(nullptr, 0, next.poll_timeout(kAbortCheck));
    }
  }
}

std::string text_of(const std::vector<Address>& addresses) {
  std::vector<std::string> texts;
  for (const Address& address : addresses) texts.push_back(address.text());
  return fmt::format("{}", fmt::join(texts, ", "));
}

}  // namespace gyre
