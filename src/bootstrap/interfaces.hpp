// At which addresses other processes can reach this one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.hpp"
#include "base/status.hpp"
#include "bootstrap/address.hpp"

namespace gyre {

// One address of one interface, as the kernel lists it.
struct InterfaceAddress {
  std::string name;
  Address address;  // port 0
  bool running = false;
};

// NCCL_SOCKET_IFNAME: "[^][=]a,b": prefixes, or whole names after '='; '^' excludes.
bool interface_matches(std::string_view pattern, std::string_view name);

// Orders and filters `found` by NCCL_SOCKET_IFNAME, NCCL_SOCKET_FAMILY and NCCL_COMM_ID's subnet.
// Pure, so that it can be tested with made-up machines. Loopback comes last.
std::vector<Address> preferred_addresses(std::span<const InterfaceAddress> found,
                                         const Settings& settings);

// This machine's candidates by preference, port 0, loopback last. invalid_argument if the settings
// leave none; the text lists the interfaces there are.
Result<std::vector<Address>> local_addresses(const Settings& settings);

// Names the network stack this process lives in: a hash of the boot id and the network namespace.
// Loopback connects two processes if and only if their values are equal.
std::uint64_t network_identity();

// What a process tells others so that they can dial it. Goes into facts and offers.
struct Endpoint {
  std::uint64_t network = 0;       // network_identity() of the listening process
  std::vector<Address> addresses;  // with the port, by preference, loopback last

  bool operator==(const Endpoint&) const = default;
};
inline constexpr std::size_t kMaxEndpointAddresses = 16;

// This process's endpoint; starts the listener on first use. Any thread.
Result<Endpoint> local_endpoint();

std::vector<std::byte> encode(const Endpoint& endpoint);
// Bounded; refuses anything encode() does not write.
Result<Endpoint> decode_endpoint(std::span<const std::byte> bytes);

// What this process may dial to reach `endpoint`: loopback first if both share a network stack,
// never otherwise; link-local addresses once for each of our own interfaces.
std::vector<Address> reachable(const Endpoint& endpoint);

}  // namespace gyre
