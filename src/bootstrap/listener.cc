#include "bootstrap/listener.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <map>
#include <memory>
#include <optional>
#include <tuple>

#include "base/clock.hpp"
#include "base/log.hpp"
#include "base/parse_value.hpp"
#include "base/process.hpp"
#include "base/settings.hpp"
#include "bootstrap/reactor.hpp"
#include "bootstrap/socket_util.hpp"

namespace gyre {
namespace {

constexpr std::size_t kMaxPending = 512;
constexpr int kAcceptsPerEvent = 64;
constexpr std::size_t kMoreDescriptors = 64;

milliseconds handshake_timeout() {
  return milliseconds(settings() ? settings()->handshake_timeout_ms
                                 : Settings{}.handshake_timeout_ms);
}

}  // namespace

// All fields belong to the reactor's thread.
struct Listener::Impl {
  using Key = std::tuple<Nonce, Purpose, std::uint32_t>;

  struct Expected {
    Id id = 0;
    Secret secret{};
    std::shared_ptr<const Handler> handler;
  };
  struct Socket {
    Fd fd;
    Reactor::Token token;
    Address address;
    int holders = 0;
  };
  // A connection that has proved nothing yet. It reads exactly the bytes of the message that is
  // due, never more: what follows belongs to the connection's new owner.
  struct Pending {
    Fd fd;
    Reactor::Token token;
    Reactor::TimerToken deadline;
    std::array<std::byte, kOpeningBytes> buffer{};
    std::size_t filled = 0;
    std::optional<Opening> opening;  // set once the challenge was sent
    ConnectionNonce nonce{};
  };

  std::map<Key, Expected> expected;
  std::map<Id, Socket> sockets;   // by registration; the process's own port is `main`
  std::map<Id, Pending> pending;  // oldest first
  std::map<Id, Id> shared;        // a second holder's registration -> the socket's
  Id next = 1;
  Id main = 0;
  Reactor::TimerToken pause;  // while the process is out of descriptors

  const Expected* find(const Opening& opening) const;
  Result<Id> open(const Address& address);
  Result<std::uint16_t> main_port();
  void accept_on(Id socket);
  void out_of_descriptors(Id socket);
  void admit(Fd fd);
  void advance(Id id);
  bool receive(Pending& connection, std::size_t bytes);
  void answer_opening(Id id, Pending& connection);
  void check_proof(Id id, Pending& connection);
  void release(Id id);
};

const Listener::Impl::Expected* Listener::Impl::find(const Opening& opening) const {
  const Hello& hello = opening.hello;
  auto found = expected.find({opening.job, hello.purpose, hello.to_rank});
  if (found == expected.end()) found = expected.find({opening.job, hello.purpose, kAnyRank});
  return found == expected.end() ? nullptr : &found->second;
}

Result<Listener::Id> Listener::Impl::open(const Address& address) {
  GYRE_TRY_ASSIGN(Fd fd, listen_at(address));
  const Id id = next++;
  // Whole before it is there: watching may throw.
  Socket socket{std::move(fd), {}, address, 1};
  socket.token = Reactor::instance().watch(socket.fd.get(), EPOLLIN,
                                           [this, id](std::uint32_t) { accept_on(id); });
  sockets.emplace(id, std::move(socket));
  return id;
}

Result<std::uint16_t> Listener::Impl::main_port() {
  if (!settings()) return settings().error();
  if (main == 0) {
    const Settings& chosen = *settings();
    // An IPv6 wildcard accepts IPv4 as well; a kernel without IPv6 needs the other.
    const bool v6 = chosen.socket_family != "AF_INET" && open_tcp_socket(AF_INET6);
    const Address any = Address::any(v6 ? AF_INET6 : AF_INET);
    std::uint16_t first = 0;
    std::uint16_t last = 0;
    if (!chosen.port_range.empty()) {
      const std::size_t dash = chosen.port_range.find('-');
      first = static_cast<std::uint16_t>(*parse_integer(chosen.port_range.substr(0, dash)));
      last = static_cast<std::uint16_t>(*parse_integer(chosen.port_range.substr(dash + 1)));
    }
    std::optional<Error> failure;
    for (unsigned port = first; port <= last && main == 0; ++port) {
      auto opened = open(any.with_port(static_cast<std::uint16_t>(port)));
      if (opened) {
        main = *opened;
      } else {
        failure = opened.error();
      }
    }
    if (main == 0 && first != 0) {
      return Error{Status::system, fmt::format("no port of GYRE_PORT_RANGE={} is free (last: {})",
                                               chosen.port_range, failure->text)};
    }
    if (main == 0) return *failure;
  }
  GYRE_TRY_ASSIGN(const Address address, local_address_of(sockets.at(main).fd));
  return address.port;
}

void Listener::Impl::accept_on(Id id) {
  for (int i = 0; i < kAcceptsPerEvent; ++i) {
    const auto socket = sockets.find(id);
    if (socket == sockets.end()) return;
    Fd fd(::accept4(socket->second.fd.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (fd) {
      admit(std::move(fd));
      continue;
    }
    const int error = errno;
    if (error == EAGAIN || error == EWOULDBLOCK) return;
    if (error == EMFILE && ensure_descriptors(kMoreDescriptors)) continue;
    if (error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM) {
      out_of_descriptors(id);
      return;
    }
    // EINTR, ECONNABORTED, and errors of a connection that died in the queue: try the next one.
  }
}

void Listener::Impl::out_of_descriptors(Id id) {
  // Strangers give way first. Without any, wait a moment instead of spinning on the ready socket.
  if (!pending.empty()) {
    pending.erase(pending.begin());
    return;
  }
  log_warn("out of file descriptors: new connections wait");
  Reactor::instance().modify(sockets.at(id).token, 0);
  pause = Reactor::instance().at(Clock::now() + milliseconds(100), [this] {
    for (auto& [_, socket] : sockets) Reactor::instance().modify(socket.token, EPOLLIN);
  });
}

void Listener::Impl::admit(Fd fd) {
  if (pending.size() >= kMaxPending) pending.erase(pending.begin());
  set_no_delay(fd);
  const Id id = next++;
  Pending& connection = pending[id];
  connection.fd = std::move(fd);
  connection.deadline =
      Reactor::instance().at(Clock::now() + handshake_timeout(), [this, id] { pending.erase(id); });
  connection.token = Reactor::instance().watch(connection.fd.get(), EPOLLIN | EPOLLRDHUP,
                                               [this, id](std::uint32_t) { advance(id); });
}

bool Listener::Impl::receive(Pending& connection, std::size_t bytes) {
  while (connection.filled < bytes) {
    const auto space =
        std::span(connection.buffer).subspan(connection.filled, bytes - connection.filled);
    const IoResult got = receive_some(connection.fd, space);
    if (got.state == IoState::again) return true;
    if (got.state == IoState::ended) return false;
    connection.filled += got.bytes;
  }
  return true;
}

void Listener::Impl::advance(Id id) {
  const auto found = pending.find(id);
  if (found == pending.end()) return;
  Pending& connection = found->second;
  const std::size_t due = connection.opening ? kProofBytes : kOpeningBytes;
  if (!receive(connection, due)) {
    pending.erase(found);
  } else if (connection.filled == due) {
    connection.opening ? check_proof(id, connection) : answer_opening(id, connection);
  }
}

void Listener::Impl::answer_opening(Id id, Pending& connection) {
  std::array<std::uint8_t, kOpeningBytes> bytes{};
  std::memcpy(bytes.data(), connection.buffer.data(), bytes.size());
  const auto opening = decode_opening(bytes);
  const Expected* wanted = opening ? find(*opening) : nullptr;
  if (wanted == nullptr) {
    pending.erase(id);
    return;
  }
  fill_random(connection.nonce);
  const auto challenge = encode(Challenge{
      connection.nonce, handshake_mac(wanted->secret, Label::accept, *opening, connection.nonce)});
  // A fresh connection has room for so few bytes; one that has not is up to no good.
  const IoResult sent = send_some(connection.fd, std::as_bytes(std::span(challenge)));
  if (sent.bytes != challenge.size()) {
    pending.erase(id);
    return;
  }
  connection.opening = *opening;
  connection.filled = 0;
}

void Listener::Impl::check_proof(Id id, Pending& connection) {
  const Opening opening = *connection.opening;
  const Expected* wanted = find(opening);
  Mac proof{};
  std::memcpy(proof.data(), connection.buffer.data(), proof.size());
  if (wanted == nullptr ||
      !equal_macs(proof, handshake_mac(wanted->secret, Label::dial, opening, connection.nonce))) {
    pending.erase(id);
    return;
  }
  const Mac welcome = handshake_mac(wanted->secret, Label::welcome, opening, connection.nonce);
  const IoResult sent = send_some(connection.fd, std::as_bytes(std::span(welcome)));
  connection.token.reset();
  Fd fd = std::move(connection.fd);
  const auto handler = wanted->handler;  // outlives a registration that the handler itself ends
  pending.erase(id);
  if (sent.bytes == welcome.size()) (*handler)(opening.hello, std::move(fd));
}

void Listener::Impl::release(Id id) {
  std::erase_if(expected, [id](const auto& entry) { return entry.second.id == id; });
  const auto alias = shared.find(id);
  const auto socket = sockets.find(alias == shared.end() ? id : alias->second);
  if (alias != shared.end()) shared.erase(alias);
  if (socket != sockets.end() && --socket->second.holders == 0) sockets.erase(socket);
}

Listener::Listener() : impl_(new Impl) {}

Listener& Listener::instance() {
  static Listener* listener = new Listener;
  return *listener;
}

void Listener::Registration::reset() {
  const Id id = std::exchange(id_, 0);
  if (id == 0 || forked()) return;
  Reactor::instance().run([id] { Listener::instance().impl_->release(id); });
}

Result<std::uint16_t> Listener::port() {
  GYRE_TRY(refuse_in_child());
  Result<std::uint16_t> port = std::uint16_t{0};
  Reactor::instance().run([&] { port = impl_->main_port(); });
  return port;
}

Result<Listener::Registration> Listener::expect(const JobKey& key, Purpose purpose,
                                                std::uint32_t to_rank, Handler handler) {
  GYRE_TRY(refuse_in_child());
  Id id = 0;
  Reactor::instance().run([&] {
    const auto [place, added] = impl_->expected.try_emplace({key.nonce, purpose, to_rank});
    if (!added) return;
    id = impl_->next++;
    place->second = {id, key.secret, std::make_shared<const Handler>(std::move(handler))};
  });
  if (id == 0) {
    return Error{Status::busy, fmt::format("this process already waits for {} connections of the "
                                           "same communicator",
                                           name_of(purpose))};
  }
  return Registration(id);
}

Result<Listener::Registration> Listener::also_listen_on(const Address& address) {
  GYRE_TRY(refuse_in_child());
  Result<Id> id = Id{0};
  Reactor::instance().run([&] {
    for (auto& [socket_id, socket] : impl_->sockets) {
      // The process's own port is a wildcard, and so may already be the one that is wanted.
      const auto own = local_address_of(socket.fd);
      const bool covers = socket_id == impl_->main && own && own->port == address.port;
      if (!covers && !(socket.address == address)) continue;
      ++socket.holders;
      id = impl_->next++;
      impl_->shared.emplace(*id, socket_id);
      return;
    }
    id = impl_->open(address);
  });
  if (!id) return std::move(id).error();
  return Registration(*id);
}

}  // namespace gyre
