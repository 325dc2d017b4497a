#include "transport/shm/message.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace gyre::shm {
namespace {

constexpr std::size_t kControlBytes = CMSG_SPACE(sizeof(int) * kMaxDescriptors);

void take_descriptors(msghdr& envelope, std::vector<Fd>& descriptors) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&envelope); part != nullptr;
       part = CMSG_NXTHDR(&envelope, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
}

}  // namespace

Result<Received> receive_message(const Fd& socket, Message& message, std::vector<Fd>& descriptors) {
  descriptors.clear();
  // One byte more than a message, so that a longer one is noticed.
  std::array<std::byte, sizeof(Message) + 1> bytes;
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  iovec part{bytes.data(), bytes.size()};
  msghdr envelope{};
  envelope.msg_iov = &part;
  envelope.msg_iovlen = 1;
  envelope.msg_control = control.data();
  envelope.msg_controllen = control.size();
  ssize_t got = -1;
  do {
    got = ::recvmsg(socket.get(), &envelope, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got < 0) {
    if (errno == EAGAIN || errno == EWOULDBLOCK) return Received::nothing;
    if (errno == ECONNRESET) return Received::end;
    return system_error("receiving from a rank of this host", errno);
  }
  take_descriptors(envelope, descriptors);
  const bool cut = (envelope.msg_flags & MSG_CTRUNC) != 0;
  if (cut) descriptors.clear();
  if (got == 0) return Received::end;
  if (static_cast<std::size_t>(got) != sizeof(Message)) {
    return Error{Status::system, fmt::format("a message of {} bytes from a rank of this host, {} "
                                             "expected",
                                             got, sizeof(Message))};
  }
  std::memcpy(&message, bytes.data(), sizeof message);
  if (message.magic != Message::kMagic) {
    return Error{Status::system, "a message of another kind or version from a rank of this host"};
  }
  return cut ? Received::cut : Received::message;
}

Result<bool> send_message(const Fd& socket, const Message& message,
                          std::span<const int> descriptors) {
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  iovec part{const_cast<Message*>(&message), sizeof message};
  msghdr envelope{};
  envelope.msg_iov = &part;
  envelope.msg_iovlen = 1;
  if (!descriptors.empty()) {
    envelope.msg_control = control.data();
    envelope.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(rights), descriptors.data(), descriptors.size_bytes());
  }
  for (;;) {
    if (::sendmsg(socket.get(), &envelope, MSG_DONTWAIT | MSG_NOSIGNAL) >= 0) return true;
    if (errno == EINTR) continue;
    if (errno == EAGAIN || errno == EWOULDBLOCK) return false;
    return system_error("sending to a rank of this host", errno);
  }
}

Mac message_mac(const Secret& secret, bool from_dialer, const Nonce& dialer, const Nonce& acceptor,
                const Message& message) {
  Message plain = message;
  plain.mac = {};
  const std::uint8_t role = from_dialer ? 'd' : 'a';
  crypto_generichash_state state;
  Mac mac{};
  crypto_generichash_init(&state, secret.data(), secret.size(), mac.size());
  crypto_generichash_update(&state, &role, 1);
  crypto_generichash_update(&state, dialer.data(), dialer.size());
  crypto_generichash_update(&state, acceptor.data(), acceptor.size());
  crypto_generichash_update(&state, reinterpret_cast<const std::uint8_t*>(&plain), sizeof plain);
  crypto_generichash_final(&state, mac.data(), mac.size());
  return mac;
}

}  // namespace gyre::shm
