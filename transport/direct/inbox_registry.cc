#include "transport/direct/inbox_registry.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "bootstrap/handshake.hpp"

namespace gyre::direct {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::pair<Nonce, int>, std::weak_ptr<Inbox>> inboxes;
};

Registry& registry() {
  static auto* instance = new Registry();
  return *instance;
}

}  // namespace

Inbox::Inbox(const TransportContext& context)
    : layout_{0, static_cast<std::uint32_t>(context.settings->slots),
              static_cast<std::uint64_t>(context.settings->slot_bytes)},
      bell_(context.bell->rope()),
      bell_segment_(context.bell_segment),
      events_(context.events) {}

Result<void> Inbox::open() {
  // A descriptor and a mapping of our own: a peer may ring after the owner has left.
  bell_event_ = Fd(::fcntl(bell_.event_fd, F_DUPFD_CLOEXEC, 0));
  if (!bell_event_) return system_error("duplicating a bell's eventfd", errno);
  bell_.event_fd = bell_event_.get();
  if (bell_segment_ != nullptr && *bell_segment_) {
    GYRE_TRY_ASSIGN(bell_memory_, Mapping::shared(*bell_segment_, sizeof(BellWord)));
    bell_.word = reinterpret_cast<BellWord*>(bell_memory_.data());
  }
  return {};
}

Result<void> Inbox::lay_out(std::span<const int> ranks) {
  const std::lock_guard lock(mutex_);
  if (memory_) return {};
  layout_.lanes = static_cast<std::uint32_t>(ranks.size());
  GYRE_TRY_ASSIGN(memory_, Mapping::anonymous(layout_.total_bytes()));
  advise_inbox(memory_, layout_);
  ranks_.assign(ranks.begin(), ranks.end());
  marks_ = std::make_unique<ReadMark[]>(ranks.size());
  return {};
}

std::optional<std::uint32_t> Inbox::index_of(int peer) const {
  const auto at = std::lower_bound(ranks_.begin(), ranks_.end(), peer);
  if (at == ranks_.end() || *at != peer) return std::nullopt;
  return static_cast<std::uint32_t>(at - ranks_.begin());
}

std::optional<LaneView> Inbox::lane_from(int peer) {
  const std::lock_guard lock(mutex_);
  const auto index = index_of(peer);
  if (!index) return std::nullopt;
  return layout_.view(memory_.data(), *index);
}

ReadMark* Inbox::mark_of(int peer) {
  const std::lock_guard lock(mutex_);
  const auto index = index_of(peer);
  return index ? &marks_[*index] : nullptr;
}

void Inbox::close() {
  closed_.store(true, std::memory_order_seq_cst);
  const std::lock_guard lock(mutex_);
  events_ = nullptr;
}

void Inbox::tell_lost(int peer, std::string how) {
  const std::lock_guard lock(mutex_);
  if (events_ != nullptr) events_->lost(peer, std::move(how));
}

void Inbox::tell_ended(int peer) {
  const std::lock_guard lock(mutex_);
  if (events_ != nullptr) events_->ended(peer);
}

Nonce process_nonce() {
  static std::mutex mutex;
  static Nonce nonce;
  static ::pid_t owner = 0;
  const std::lock_guard lock(mutex);
  if (owner != ::getpid()) {
    fill_random(nonce);
    owner = ::getpid();
  }
  return nonce;
}

Result<void> register_inbox(const JobKey& key, int rank, std::shared_ptr<Inbox> inbox) {
  const std::lock_guard lock(registry().mutex);
  auto& slot = registry().inboxes[{key.nonce, rank}];
  if (!slot.expired()) {
    return Error{
        Status::invalid_usage,
        fmt::format("rank {} is already in this communicator, in this very process", rank)};
  }
  slot = inbox;
  return {};
}

void forget_inbox(const JobKey& key, int rank, const Inbox* inbox) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().inboxes.find({key.nonce, rank});
  if (found == registry().inboxes.end()) return;
  const auto held = found->second.lock();
  if (held == nullptr || held.get() == inbox) registry().inboxes.erase(found);
}

std::shared_ptr<Inbox> find_inbox(const JobKey& key, int rank) {
  const std::lock_guard lock(registry().mutex);
  const auto found = registry().inboxes.find({key.nonce, rank});
  return found == registry().inboxes.end() ? nullptr : found->second.lock();
}

}  // namespace gyre::direct
