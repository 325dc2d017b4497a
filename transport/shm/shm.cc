#include "transport/shm/shm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

#include "base/log.hpp"
#include "base/process.hpp"
#include "bootstrap/interfaces.hpp"
#include "transport/shm/link.hpp"
#include "transport/shm/region.hpp"
#include "transport/shm/rendezvous.hpp"

namespace gyre {
namespace {

using shm::Channel;
using shm::ShmLink;

// Pairing on one host takes milliseconds; a peer that needs longer than this is stopped or dead,
// and the sockets, which are more patient, take over.
constexpr milliseconds kPairingPatience{30'000};
// Below this a copy through the slot is as fast as a system call that reads the peer's memory.
constexpr std::uint64_t kLeastAutomaticAddressBytes = 64 << 10;

// A blob: which host, under which name.
struct Offer {
  std::uint64_t host = 0;
  shm::SocketName name{};
};

Blob encode(const Offer& offer) {
  Blob blob(sizeof offer.host + sizeof offer.name);
  std::memcpy(blob.data(), &offer.host, sizeof offer.host);
  std::memcpy(blob.data() + sizeof offer.host, offer.name.data(), offer.name.size());
  return blob;
}

std::optional<Offer> decode(const Blob& blob) {
  Offer offer;
  if (blob.size() != sizeof offer.host + sizeof offer.name) return std::nullopt;
  std::memcpy(&offer.host, blob.data(), sizeof offer.host);
  std::memcpy(offer.name.data(), blob.data() + sizeof offer.host, offer.name.size());
  return offer;
}

// Only a hint. Abstract socket names belong to a network namespace, hence its identity.
std::uint64_t host_hint(const Settings& settings) {
  return settings.host_id.empty() ? network_identity() : std::hash<std::string>{}(settings.host_id);
}

class ShmTransport final : public Transport {
 public:
  explicit ShmTransport(const TransportContext& context) : context_(context) {}
  ~ShmTransport() override { close(false); }

  std::string_view name() const override { return "shm"; }
  Result<Blob> offer() override;
  bool reaches(int peer, const Blob& mine, const Blob& theirs) const override;
  Result<std::vector<bool>> connect(std::span<const int> peers, std::span<const Blob> blobs,
                                    Deadline deadline) override;
  void keep(std::span<const int> peers) override;
  Link* link(int peer) override;
  void between_calls() override;
  void close(bool goodbye) override;

 private:
  using Channels = std::vector<std::shared_ptr<Channel>>;
  void region_gone(const Channels& channels, std::uint64_t id, RegionEnd when);
  Result<void> make_inbox(std::size_t lanes);
  void pair_up(std::span<const int> peers, std::span<const Blob> blobs, Deadline deadline);
  shm::ReferRules rules(const shm::Joined& joined) const;
  void report(const std::map<int, std::string>& failures) const;

  TransportContext context_;
  Fd listener_;
  shm::Own own_;
  Fd inbox_segment_;
  Mapping inbox_;
  std::map<int, std::unique_ptr<ShmLink>> links_;
  std::mutex gone_mutex_;
  std::vector<std::uint64_t> gone_;  // regions of which peers are to be told between calls
  std::atomic<bool> any_gone_{false};
  // Whether peers gave up regions that links may still have mapped.
  std::shared_ptr<std::atomic<bool>> peers_gave_up_ = std::make_shared<std::atomic<bool>>(false);
  std::optional<RegionWatch> region_watch_;
  bool closed_ = false;
};

Result<Blob> ShmTransport::offer() {
  const Settings& settings = *context_.settings;
  if (settings.shm_disable || context_.bell_segment == nullptr || !*context_.bell_segment) {
    return Blob{};
  }
  if (const auto probe = create_segment(page_size()); !probe) {
    log_warn("rank {}: shared memory is off ({}); ranks of this host use sockets", context_.rank,
             probe.error().text);
    return Blob{};
  }
  Offer offer{host_hint(settings), {}};
  fill_random(offer.name);
  auto listener = shm::listen_on(offer.name);
  if (!listener) {
    log_warn("rank {}: shared memory is off ({}); ranks of this host use sockets", context_.rank,
             listener.error().text);
    return Blob{};
  }
  listener_ = *std::move(listener);
  return encode(offer);
}

bool ShmTransport::reaches(int, const Blob& mine, const Blob& theirs) const {
  const auto here = decode(mine);
  const auto there = decode(theirs);
  return here && there && here->host == there->host;
}

Result<void> ShmTransport::make_inbox(std::size_t lanes) {
  const Settings& settings = *context_.settings;
  own_.rank = context_.rank;
  own_.key = context_.key;
  own_.layout = {static_cast<std::uint32_t>(lanes), static_cast<std::uint32_t>(settings.slots),
                 static_cast<std::uint64_t>(settings.slot_bytes)};
  GYRE_TRY_ASSIGN(inbox_segment_, create_segment(own_.layout.total_bytes()));
  GYRE_TRY_ASSIGN(inbox_, Mapping::shared(inbox_segment_, own_.layout.total_bytes()));
  advise_inbox(inbox_, own_.layout);
  own_.inbox = inbox_.data();
  own_.inbox_fd = inbox_segment_.get();
  own_.bell_fd = context_.bell_segment->get();
  own_.event_fd = context_.bell->event_fd();
  own_.read_by_address = settings.cma != "0" && !settings.p2p_disable;
  return {};
}

shm::ReferRules ShmTransport::rules(const shm::Joined& joined) const {
  const Settings& settings = *context_.settings;
  const auto smallest = static_cast<std::uint64_t>(settings.zero_copy_bytes);
  const bool always = settings.cma == "1";
  shm::ReferRules rules;
  rules.regions = !settings.p2p_disable;
  rules.region_bytes = smallest;
  rules.address = joined.peer_reads_address;
  rules.always_address = always;
  rules.address_bytes = always ? smallest : std::max(smallest, kLeastAutomaticAddressBytes);
  return rules;
}

void ShmTransport::pair_up(std::span<const int> peers, std::span<const Blob> blobs,
                           Deadline deadline) {
  std::vector<shm::Rendezvous::Peer> wanted;
  std::map<int, std::uint32_t> lanes;
  for (const int peer : peers) {
    const auto lane = static_cast<std::uint32_t>(lanes.size());
    lanes[peer] = lane;
    const auto offer = decode(blobs[static_cast<std::size_t>(peer)]);
    if (offer) wanted.push_back({peer, lane, offer->name});
  }
  shm::Rendezvous rendezvous(own_, listener_);
  rendezvous.run(wanted, deadline, context_.abort);
  report(rendezvous.failures());
  for (auto& [peer, joined] : rendezvous.joined()) {
    auto channel = std::make_shared<Channel>(context_.rank, peer, std::move(joined.socket),
                                             joined.pid, peers_gave_up_);
    const shm::ReferRules refer = rules(joined);
    links_[peer] = std::make_unique<ShmLink>(peer, std::move(joined), std::move(channel),
                                             own_.layout.view(inbox_.data(), lanes[peer]), refer,
                                             context_.abort);
  }
}

void ShmTransport::report(const std::map<int, std::string>& failures) const {
  if (failures.empty()) return;
  std::string ranks;
  for (const auto& [rank, why] : failures) {
    ranks += fmt::format("{}{}", ranks.empty() ? "" : ", ", rank);
  }
  log_warn("rank {} cannot share memory with ranks {}; they use sockets. The first: {}",
           context_.rank, ranks, failures.begin()->second);
}

Result<std::vector<bool>> ShmTransport::connect(std::span<const int> peers,
                                                std::span<const Blob> blobs, Deadline deadline) {
  if (!peers.empty() && listener_) {
    // Socket, pidfd and eventfd of each, and its probe. What cannot be had here is said by the
    // pairing that lacks it.
    constexpr std::size_t kPerPeer = 4, kOwn = 16;
    (void)ensure_descriptors(kPerPeer * peers.size() + kOwn);
    if (const auto made = make_inbox(peers.size()); made) {
      pair_up(peers, blobs, deadline.earlier(Deadline::after(kPairingPatience)));
    } else {
      log_warn("rank {}: no shared memory for {} ranks of this host ({}); they use sockets",
               context_.rank, peers.size(), made.error().text);
    }
  }
  // Peers that still dial or wait see at once that there is nobody.
  listener_.reset();
  inbox_segment_.reset();
  if (context_.abort != nullptr && context_.abort->raised()) return context_.abort->reason();
  std::vector<bool> verdicts;
  for (const int peer : peers) verdicts.push_back(links_.contains(peer));
  return verdicts;
}

void ShmTransport::keep(std::span<const int> peers) {
  std::erase_if(links_, [&](const auto& entry) {
    if (std::find(peers.begin(), peers.end(), entry.first) != peers.end()) return false;
    entry.second->channel()->close(false);
    return true;
  });
  Channels channels;
  for (const auto& [peer, link] : links_) {
    link->channel()->start(context_.events);
    channels.push_back(link->channel());
  }
  if (channels.empty()) {
    inbox_ = {};
    return;
  }
  region_watch_.emplace([this, channels = std::move(channels)](std::uint64_t id, RegionEnd when) {
    region_gone(channels, id, when);
  });
}

void ShmTransport::region_gone(const Channels& channels, std::uint64_t id, RegionEnd when) {
  if (when == RegionEnd::at_once) {
    for (const auto& channel : channels) channel->forget(id);
    return;
  }
  const std::lock_guard lock(gone_mutex_);
  gone_.push_back(id);
  any_gone_.store(true, std::memory_order_release);
}

void ShmTransport::between_calls() {
  if (peers_gave_up_->load(std::memory_order_relaxed)) {
    peers_gave_up_->exchange(false, std::memory_order_acq_rel);
    for (const auto& [peer, link] : links_) link->renew_regions();
  }
  if (!any_gone_.load(std::memory_order_acquire)) return;
  std::vector<std::uint64_t> gone;
  {
    const std::lock_guard lock(gone_mutex_);
    gone = std::exchange(gone_, {});
    any_gone_.store(false, std::memory_order_relaxed);
  }
  for (const std::uint64_t id : gone) {
    for (const auto& [peer, link] : links_) link->channel()->forget(id);
  }
}

Link* ShmTransport::link(int peer) {
  const auto found = links_.find(peer);
  return found == links_.end() ? nullptr : found->second.get();
}

void ShmTransport::close(bool goodbye) {
  if (closed_) return;
  closed_ = true;
  listener_.reset();
  region_watch_.reset();
  for (const auto& [peer, link] : links_) link->channel()->close(goodbye);
}

}  // namespace

std::unique_ptr<Transport> make_shm(const TransportContext& context) {
  return std::make_unique<ShmTransport>(context);
}

}  // namespace gyre
