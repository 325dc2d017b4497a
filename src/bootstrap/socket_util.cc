#include "bootstrap/socket_util.hpp"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <cerrno>

namespace gyre {
namespace {

void set_option(const Fd& socket, int level, int option, int value) {
  // Advice to the kernel: a socket without it still works (and AF_UNIX sockets have none of them).
  ::setsockopt(socket.get(), level, option, &value, sizeof value);
}

IoResult result_of(ssize_t moved) {
  if (moved > 0) return {IoState::done, static_cast<std::size_t>(moved), 0};
  if (moved == 0) return {IoState::ended, 0, 0};
  if (errno == EAGAIN || errno == EWOULDBLOCK) return {IoState::again, 0, 0};
  return {IoState::ended, 0, errno};
}

}  // namespace

Fd open_tcp_socket(int family) {
  return Fd(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP));
}

Result<Fd> listen_at(const Address& address) {
  Fd socket = open_tcp_socket(address.family);
  if (!socket) return system_error("opening a listening socket", errno);
  // Lets a restarted job have its port while old connections are still in TIME_WAIT. On Linux two
  // listeners still cannot share a port.
  set_option(socket, SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family == AF_INET6) {
    set_option(socket, IPPROTO_IPV6, IPV6_V6ONLY, address.is_any() ? 0 : 1);
  }
  sockaddr_storage storage{};
  const socklen_t length = address.to_sockaddr(storage);
  if (::bind(socket.get(), reinterpret_cast<const sockaddr*>(&storage), length) != 0) {
    return system_error(fmt::format("binding to {}", address.text()), errno);
  }
  if (::listen(socket.get(), SOMAXCONN) != 0) {
    return system_error(fmt::format("listening at {}", address.text()), errno);
  }
  return socket;
}

Result<Address> local_address_of(const Fd& socket) {
  sockaddr_storage storage{};
  socklen_t length = sizeof storage;
  if (::getsockname(socket.get(), reinterpret_cast<sockaddr*>(&storage), &length) != 0) {
    return system_error("getsockname", errno);
  }
  return Address::from_sockaddr(reinterpret_cast<const sockaddr*>(&storage));
}

void set_no_delay(const Fd& socket) { set_option(socket, IPPROTO_TCP, TCP_NODELAY, 1); }

void set_keep_alive(const Fd& socket) {
  set_option(socket, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(socket, IPPROTO_TCP, TCP_KEEPIDLE, 10);
  set_option(socket, IPPROTO_TCP, TCP_KEEPINTVL, 5);
  set_option(socket, IPPROTO_TCP, TCP_KEEPCNT, 4);
}

void set_send_timeout(const Fd& socket) {
  set_option(socket, IPPROTO_TCP, TCP_USER_TIMEOUT, 30'000);
}

IoResult send_some(const Fd& socket, std::span<const std::byte> bytes) {
  ssize_t sent = 0;
  do {
    sent = ::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return result_of(sent);
}

IoResult receive_some(const Fd& socket, std::span<std::byte> bytes) {
  ssize_t received = 0;
  do {
    received = ::recv(socket.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
  } while (received < 0 && errno == EINTR);
  return result_of(received);
}

}  // namespace gyre
