#include "transport/socket/socket.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "bootstrap/dial.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/listener.hpp"
#include "transport/inbox.hpp"
#include "transport/socket/arrivals.hpp"
#include "transport/socket/linger.hpp"
#include "transport/socket/link.hpp"

namespace gyre {
namespace {

using socket::SocketLink;
using socket::Stream;

// Peers are dialled side by side, by so many threads at most.
constexpr std::size_t kDialers = 8;
// How much later than this rank a peer may begin to dial.
constexpr milliseconds kSkew{30'000};
// Up to so many streams, trying each is cheaper than asking the kernel which are ready.
constexpr std::size_t kTryAll = 2;

struct Connections {
  std::vector<Fd> streams;
  std::string failure;
};

class SocketTransport final : public Transport {
 public:
  explicit SocketTransport(const TransportContext& context)
      : context_(context),
        streams_(static_cast<std::uint32_t>(context.settings->socket_streams)),
        patience_(2 * context.settings->handshake_timeout_ms) {}
  ~SocketTransport() override { close(false); }

  std::string_view name() const override { return "socket"; }
  bool polls() const override { return true; }
  Result<Blob> offer() override;
  bool reaches(int, const Blob&, const Blob& theirs) const override { return !theirs.empty(); }
  Result<std::vector<bool>> connect(std::span<const int> peers, std::span<const Blob> blobs,
                                    Deadline deadline) override;
  void keep(std::span<const int> peers) override;
  Link* link(int peer) override;
  Result<bool> poll() override;
  void descriptors(std::vector<pollfd>& fds) const override;
  bool flushed() const override;
  void close(bool goodbye) override;

 private:
  void dial_all(std::span<const int> peers, std::span<const Blob> blobs, Deadline deadline,
                std::map<int, Connections>& found);
  Result<std::vector<Fd>> dial_one(int peer, const Blob& blob, Deadline deadline) const;
  void await_all(std::span<const int> peers, Deadline deadline, std::map<int, Connections>& found);
  Result<void> make_links(std::map<int, Connections>& found);
  Result<bool> pump(SocketLink& link, std::span<const pollfd> ready);

  TransportContext context_;
  std::uint32_t streams_;
  milliseconds patience_;
  std::shared_ptr<socket::Arrivals> arrivals_;
  Listener::Registration registration_;
  std::map<int, std::unique_ptr<SocketLink>> links_;
  std::vector<pollfd> ready_;  // of poll(), kept to allocate nothing there
  bool closed_ = false;
};

Result<Blob> SocketTransport::offer() {
  GYRE_TRY_ASSIGN(const Endpoint endpoint, local_endpoint());
  arrivals_ =
      std::make_shared<socket::Arrivals>(static_cast<std::uint32_t>(context_.world), streams_);
  GYRE_TRY_ASSIGN(registration_,
                  Listener::instance().expect(context_.key, Purpose::lane,
                                              static_cast<std::uint32_t>(context_.rank),
                                              [arrivals = arrivals_](const Hello& hello, Fd fd) {
                                                arrivals->add(hello, std::move(fd));
                                              }));
  return encode(endpoint);
}

Result<std::vector<Fd>> SocketTransport::dial_one(int peer, const Blob& blob,
                                                  Deadline deadline) const {
  GYRE_TRY_ASSIGN(const Endpoint endpoint, decode_endpoint(blob));
  const std::vector<Address> candidates = reachable(endpoint);
  std::vector<Fd> sockets;
  for (std::uint32_t index = 0; index < streams_; ++index) {
    const Hello hello{Purpose::lane, static_cast<std::uint32_t>(context_.rank),
                      static_cast<std::uint32_t>(peer), index};
    GYRE_TRY_ASSIGN(Fd fd, dial(candidates, context_.key, hello, deadline, context_.abort, true));
    sockets.push_back(std::move(fd));
  }
  return sockets;
}

void SocketTransport::dial_all(std::span<const int> peers, std::span<const Blob> blobs,
                               Deadline deadline, std::map<int, Connections>& found) {
  std::vector<std::pair<int, Connections*>> work;
  for (const int peer : peers) {
    if (peer < context_.rank) work.emplace_back(peer, &found[peer]);
  }
  std::atomic<std::size_t> next{0};
  const auto dial_some = [&] {
    for (std::size_t i = next++; i < work.size(); i = next++) {
      const auto [peer, connections] = work[i];
      auto dialled = contained("dialling", [&, peer = peer] {
        return dial_one(peer, blobs[static_cast<std::size_t>(peer)], deadline);
      });
      if (dialled) {
        connections->streams = *std::move(dialled);
      } else {
        connections->failure = std::move(dialled).error().text;
      }
    }
  };
  std::vector<std::jthread> helpers;
  // Without them it only takes longer.
  (void)contained("starting dialers", [&]() -> Result<void> {
    while (helpers.size() + 1 < std::min(kDialers, work.size())) helpers.emplace_back(dial_some);
    return {};
  });
  dial_some();
}

void SocketTransport::await_all(std::span<const int> peers, Deadline deadline,
                                std::map<int, Connections>& found) {
  for (const int peer : peers) {
    if (peer < context_.rank) continue;
    Connections& connections = found[peer];
    for (std::uint32_t index = 0; index < streams_; ++index) {
      Fd fd = arrivals_->take(peer, index, deadline, context_.abort);
      if (!fd) {
        connections.failure = "it did not connect in time";
        break;
      }
      connections.streams.push_back(std::move(fd));
    }
  }
}

Result<std::vector<bool>> SocketTransport::connect(std::span<const int> peers,
                                                   std::span<const Blob> blobs, Deadline deadline) {
  std::map<int, Connections> found;
  dial_all(peers, blobs, deadline.earlier(Deadline::after(patience_)), found);
  await_all(peers, deadline.earlier(Deadline::after(patience_ + kSkew)), found);
  if (context_.abort != nullptr && context_.abort->raised()) return context_.abort->reason();
  GYRE_TRY(make_links(found));
  std::vector<bool> verdicts;
  for (const int peer : peers) verdicts.push_back(links_.contains(peer));
  return verdicts;
}

// All lanes lie in one block, so that they can share huge pages.
Result<void> SocketTransport::make_links(std::map<int, Connections>& found) {
  for (const auto& [peer, connections] : found) {
    if (connections.failure.empty()) continue;
    log_warn("rank {} cannot reach rank {} over TCP: {}", context_.rank, peer, connections.failure);
  }
  std::erase_if(found, [](const auto& entry) { return !entry.second.failure.empty(); });
  if (found.empty()) return {};
  const Settings& settings = *context_.settings;
  const InboxLayout layout{static_cast<std::uint32_t>(2 * found.size()),
                           static_cast<std::uint32_t>(settings.slots),
                           static_cast<std::uint64_t>(settings.slot_bytes)};
  GYRE_TRY_ASSIGN(Mapping mapping, Mapping::anonymous(layout.total_bytes()));
  advise_inbox(mapping, layout);
  const auto memory = std::make_shared<const Mapping>(std::move(mapping));
  std::uint32_t lane = 0;
  for (auto& [peer, connections] : found) {
    std::vector<Stream> streams;
    for (Fd& fd : connections.streams) {
      socket::tune(fd, settings.congestion);
      streams.emplace_back(std::move(fd), static_cast<std::uint32_t>(streams.size()), streams_);
    }
    links_[peer] = std::make_unique<SocketLink>(
        peer, std::move(streams), memory, layout.view(memory->data(), lane),
        layout.view(memory->data(), lane + 1),
        static_cast<std::uint64_t>(settings.zero_copy_bytes));
    lane += 2;
  }
  return {};
}

void SocketTransport::keep(std::span<const int> peers) {
  registration_.reset();
  arrivals_.reset();
  std::erase_if(links_, [&](const auto& entry) {
    return std::find(peers.begin(), peers.end(), entry.first) == peers.end();
  });
  ready_.reserve(links_.size() * streams_);
}

Link* SocketTransport::link(int peer) {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second.get();
}

Result<bool> SocketTransport::pump(SocketLink& link, std::span<const pollfd> ready) {
  GYRE_TRY_ASSIGN(const bool moved, link.pump(ready));
  std::string how;
  if (context_.events != nullptr) {
    if (link.lost(how)) context_.events->lost(link.peer(), how);
    if (link.left()) context_.events->ended(link.peer());
  }
  return moved;
}

Result<bool> SocketTransport::poll() {
  const bool ask = links_.size() * streams_ > kTryAll;
  if (ask) {
    ready_.clear();
    descriptors(ready_);
    if (::poll(ready_.data(), ready_.size(), 0) < 0) {
      for (pollfd& entry : ready_) entry.revents = entry.events;
    }
  }
  bool moved = false;
  std::span<const pollfd> left = ready_;
  for (const auto& [peer, link] : links_) {
    GYRE_TRY_ASSIGN(const bool pumped,
                    pump(*link, ask ? left.first(streams_) : std::span<const pollfd>()));
    moved = moved || pumped;
    if (ask) left = left.subspan(streams_);
  }
  return moved;
}

void SocketTransport::descriptors(std::vector<pollfd>& fds) const {
  for (const auto& [peer, link] : links_) link->interest(fds);
}

bool SocketTransport::flushed() const {
  return std::all_of(links_.begin(), links_.end(),
                     [](const auto& entry) { return entry.second->flushed(); });
}

void SocketTransport::close(bool goodbye) {
  if (closed_) return;
  closed_ = true;
  registration_.reset();
  std::vector<std::unique_ptr<SocketLink>> links;
  for (auto& [peer, link] : links_) links.push_back(std::move(link));
  links_.clear();
  if (goodbye) socket::linger(std::move(links));
}

}  // namespace

std::unique_ptr<Transport> make_socket(const TransportContext& context) {
  return std::make_unique<SocketTransport>(context);
}

}  // namespace gyre
