// The few socket calls that the listener, the dialer and the control connections share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "bootstrap/address.hpp"

namespace gyre {

// A non-blocking, close-on-exec TCP socket. No descriptor, and errno, on failure.
Fd open_tcp_socket(int family);

// A socket that listens at `address`; port 0 lets the kernel choose. An any-address of IPv6 also
// accepts IPv4.
Result<Fd> listen_at(const Address& address);
Result<Address> local_address_of(const Fd& socket);

void set_no_delay(const Fd& socket);
// Finds out within about half a minute that the peer's machine is gone, while nothing is under way.
void set_keep_alive(const Fd& socket);
// The same for bytes under way. Only where the peer reads at once: the kernel also gives up a
// living peer that has had no room for so long.
void set_send_timeout(const Fd& socket);

enum class IoState : std::uint8_t { done, again, ended };
struct IoResult {
  IoState state = IoState::again;
  std::size_t bytes = 0;
  int error = 0;  // errno of `ended`; 0: the peer closed
};
// One non-blocking send or receive, repeated over EINTR. `done`: `bytes` > 0 were moved.
IoResult send_some(const Fd& socket, std::span<const std::byte> bytes);
IoResult receive_some(const Fd& socket, std::span<std::byte> bytes);

}  // namespace gyre
