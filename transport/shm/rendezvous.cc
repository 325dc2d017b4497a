#include "transport/shm/rendezvous.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cerrno>
#include <cstring>

#include "base/process.hpp"

namespace gyre::shm {
namespace {

// Connections that have not said hello; more are closed at once.
constexpr std::size_t kMaxStrangers = 1024;
constexpr milliseconds kAbortCheck{50};
constexpr milliseconds kDialAgain{5};
constexpr std::size_t kMoreDescriptors = 64;
// The silence after which peers are probed again; each time twice as long, as a stopped peer does
// not empty its queue.
constexpr milliseconds kFirstProbe{50};

socklen_t fill_name(const SocketName& name, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  std::string text = "gyre-";
  for (const std::uint8_t byte : name) text += fmt::format("{:02x}", byte);
  std::memcpy(address.sun_path + 1, text.data(), text.size());  // leading zero: abstract
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
}

Result<Fd> open_socket() {
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return system_error("creating a unix socket", errno);
  return fd;
}

Result<Fd> connect_to(const SocketName& name) {
  GYRE_TRY_ASSIGN(Fd fd, open_socket());
  sockaddr_un address;
  const socklen_t length = fill_name(name, address);
  int rc = -1;
  do {
    rc = ::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length);
  } while (rc != 0 && errno == EINTR);
  // The queue of its listener is full: it is there, and will empty it.
  if (rc != 0 && errno == EAGAIN) return Error{Status::busy, "a rank of this host is busy"};
  if (rc != 0) return system_error("connecting to a rank of this host", errno);
  return fd;
}

}  // namespace

Result<Fd> listen_on(const SocketName& name) {
  GYRE_TRY_ASSIGN(Fd fd, open_socket());
  sockaddr_un address;
  const socklen_t length = fill_name(name, address);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), length) != 0) {
    return system_error("naming a unix socket", errno);
  }
  // As long as the kernel allows: all peers dial, and probe, at the same moment.
  if (::listen(fd.get(), SOMAXCONN) != 0) return system_error("listening on a unix socket", errno);
  return fd;
}

void Rendezvous::fail(int rank, std::string why) {
  pairings_.erase(rank);
  failures_.emplace(rank, std::move(why));
}

// All whose connection has not come yet.
void Rendezvous::fail_rest(const std::string& why) {
  std::vector<int> ranks;
  for (const auto& [rank, pairing] : pairings_) {
    if (!pairing->started()) ranks.push_back(rank);
  }
  for (const int rank : ranks) fail(rank, why);
}

void Rendezvous::start(const Peer& peer) {
  pairings_[peer.rank] = std::make_unique<Pairing>(own_, peer.rank, peer.lane);
  connect(peer);
}

// Dials a lower rank, probes a higher one.
void Rendezvous::connect(const Peer& peer) {
  auto socket = connect_to(peer.name);
  if (socket.status() == Status::busy) return;
  if (!socket) return fail(peer.rank, socket.error().text);
  if (own_.rank < peer.rank) return;
  if (auto dialled = pairings_[peer.rank]->dial(*std::move(socket)); !dialled) {
    fail(peer.rank, dialled.error().text);
  }
}

// Those that were busy; whether any still is.
bool Rendezvous::dial_again(std::span<const Peer> peers) {
  bool busy = false;
  for (const Peer& peer : peers) {
    const auto waits = [&] {
      const auto pairing = pairings_.find(peer.rank);
      return own_.rank > peer.rank && pairing != pairings_.end() && !pairing->second->started();
    };
    if (!waits()) continue;
    connect(peer);
    busy = busy || waits();
  }
  return busy;
}

// A peer that was there when it was probed may have given up since.
void Rendezvous::probe_again(std::span<const Peer> peers) {
  for (const Peer& peer : peers) {
    const auto pairing = pairings_.find(peer.rank);
    if (own_.rank > peer.rank || pairing == pairings_.end() || pairing->second->started()) continue;
    connect(peer);
  }
}

void Rendezvous::accept_all() {
  for (;;) {
    Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      const int error = errno;
      if (error == EINTR || error == ECONNABORTED) continue;
      if (error == EAGAIN || error == EWOULDBLOCK) return;
      if (error == EMFILE && ensure_descriptors(kMoreDescriptors)) continue;
      return fail_rest(system_error("accepting a rank of this host", error).text);
    }
    if (strangers_.size() < kMaxStrangers) strangers_.push_back(std::move(socket));
  }
}

// Reads the hello of a stranger and hands its socket to the pairing it is for.
void Rendezvous::greet(std::size_t index) {
  Message hello;
  std::vector<Fd> descriptors;
  const auto received = receive_message(strangers_[index], hello, descriptors);
  if (received && *received == Received::nothing) return;
  Fd socket = std::move(strangers_[index]);
  if (!received || *received != Received::message) return;
  const auto pairing = pairings_.find(hello.from);
  if (hello.type != MessageType::hello || hello.job != own_.key.nonce || hello.to != own_.rank ||
      hello.from <= own_.rank || pairing == pairings_.end() || pairing->second->started()) {
    return;
  }
  if (auto accepted = pairing->second->accept(std::move(socket), hello); !accepted) {
    fail(hello.from, accepted.error().text);
  }
}

void Rendezvous::advance(int rank) {
  auto advanced = pairings_[rank]->advance();
  if (!advanced) return fail(rank, advanced.error().text);
  if (!*advanced) return;
  joined_.emplace(rank, pairings_[rank]->take());
  pairings_.erase(rank);
}

void Rendezvous::run(std::span<const Peer> peers, Deadline deadline, const AbortState* abort) {
  for (const Peer& peer : peers) start(peer);
  std::vector<pollfd> fds;
  std::vector<int> ranks;
  milliseconds patience = kFirstProbe;
  Clock::time_point next_probe = Clock::now() + patience;
  while (!pairings_.empty() && !deadline.expired() && !(abort != nullptr && abort->raised())) {
    const bool busy = dial_again(peers);
    fds.assign(1, {listener_.get(), POLLIN, 0});
    for (const Fd& stranger : strangers_) fds.push_back({stranger.get(), POLLIN, 0});
    const std::size_t first_pairing = fds.size();
    ranks.clear();
    bool awaited = false;
    for (const auto& [rank, pairing] : pairings_) {
      if (!pairing->started()) {
        awaited = true;
        continue;
      }
      fds.push_back({pairing->fd(), POLLIN, 0});
      ranks.push_back(rank);
    }
    // Whoever else is in the queue, and cannot be accepted, would end every poll() at once.
    if (!awaited) fds[0].fd = -1;
    const milliseconds longest = busy ? kDialAgain : kAbortCheck;
    const int ready = ::poll(fds.data(), fds.size(), deadline.poll_timeout(longest));
    if (ready == 0 && Clock::now() >= next_probe) {
      probe_again(peers);
      patience *= 2;
      next_probe = Clock::now() + patience;
    }
    if (ready <= 0) continue;
    for (std::size_t i = first_pairing; i < fds.size(); ++i) {
      if (fds[i].revents != 0) advance(ranks[i - first_pairing]);
    }
    for (std::size_t i = 1; i < first_pairing; ++i) {
      if (fds[i].revents != 0) greet(i - 1);
    }
    std::erase_if(strangers_, [](const Fd& stranger) { return !stranger; });
    if (fds[0].revents != 0) accept_all();
  }
  while (!pairings_.empty()) fail(pairings_.begin()->first, "it did not answer in time");
  strangers_.clear();
}

}  // namespace gyre::shm
