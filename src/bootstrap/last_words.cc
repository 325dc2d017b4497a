#include "bootstrap/last_words.hpp"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <vector>

#include "base/process.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/messages.hpp"
#include "bootstrap/socket_util.hpp"

namespace gyre {
namespace {

std::vector<std::byte> words_of(int rank, int world, const Error& error) {
  const JoinMessage join{kBootstrapVersion, static_cast<std::uint32_t>(rank),
                         static_cast<std::uint32_t>(world), process_identity()};
  std::vector<std::byte> bytes = *encode(FrameType::join, 0, encode(join));
  const SharedBytes announce = encode(FrameType::announce, 0, encode(ErrorMessage{0, error}));
  bytes.insert(bytes.end(), announce->begin(), announce->end());
  return bytes;
}

void wait_for(const Fd& socket, short events, Deadline deadline) {
  constexpr milliseconds kLongest{1000};
  pollfd entry{socket.get(), events, 0};
  ::poll(&entry, 1, deadline.poll_timeout(kLongest));
}

Result<void> send_all(const Fd& socket, std::span<const std::byte> bytes, Deadline deadline) {
  while (!bytes.empty()) {
    if (deadline.expired()) return Error{Status::timeout, "the hub does not read"};
    const IoResult sent = send_some(socket, bytes);
    if (sent.state == IoState::ended) return system_error("telling the hub", sent.error);
    bytes = bytes.subspan(sent.bytes);
    if (sent.state == IoState::again) wait_for(socket, POLLOUT, deadline);
  }
  return {};
}

}  // namespace

Result<void> say_last_words(const Fd& connection, int rank, int world, const Error& error,
                            Deadline deadline) {
  GYRE_TRY(send_all(connection, words_of(rank, world, error), deadline));
  ::shutdown(connection.get(), SHUT_WR);
  // Closed with bytes unread, the connection would be reset and the words lost with it.
  std::array<std::byte, 256> unread;
  while (!deadline.expired()) {
    const IoResult got = receive_some(connection, unread);
    if (got.state == IoState::ended) return {};
    if (got.state == IoState::again) wait_for(connection, POLLIN, deadline);
  }
  return Error{Status::timeout, "the hub did not close the connection"};
}

}  // namespace gyre
