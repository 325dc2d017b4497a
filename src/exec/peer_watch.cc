#include "exec/peer_watch.hpp"

#include <fmt/format.h>

#include <utility>

namespace gyre {
namespace {

// A rank that finds a fault says so and aborts: its lanes may end before what it said has come
// through rank 0.
constexpr milliseconds kWordPatience{50};

}  // namespace

PeerWatch::PeerWatch(std::vector<std::string> names, BellRope bell)
    : names_(std::move(names)),
      bell_(bell),
      states_(std::make_unique<std::atomic<std::uint8_t>[]>(names_.size())),
      how_(names_.size()),
      lost_at_(names_.size()) {}

void PeerWatch::mark(int peer, std::uint8_t bit, std::string how) {
  if (!is_peer(peer)) return;
  const auto index = static_cast<std::size_t>(peer);
  {
    const std::lock_guard lock(mutex_);
    if (how_[index].empty()) how_[index] = std::move(how);
    if ((bit & kLost) != 0 && !has(peer, kLost)) {
      if (first_lost_ < 0) first_lost_ = peer;
      lost_at_[index] = Clock::now();
    }
    if (bit == kGone && first_gone_ < 0) {
      first_gone_ = peer;
      gone_at_ = Clock::now();
    }
  }
  states_[index].fetch_or(bit, std::memory_order_release);
  changed_.store(true, std::memory_order_release);
  bell_.ring();
}

void PeerWatch::lost(int peer, std::string how) { mark(peer, kLanesEnded | kLost, std::move(how)); }

void PeerWatch::ended(int peer) { mark(peer, kLanesEnded, "has destroyed the communicator"); }

void PeerWatch::gone(int peer, std::string how) { mark(peer, kGone, std::move(how)); }

void PeerWatch::left(int peer) { mark(peer, kLeft, "has destroyed the communicator"); }

std::uint64_t PeerWatch::all_left() const {
  std::uint64_t ranks = 0;
  for (std::size_t peer = 0; peer < names_.size() && peer < 64; ++peer) {
    if (has(static_cast<int>(peer), kLeft)) ranks |= std::uint64_t{1} << peer;
  }
  return ranks;
}

std::optional<int> PeerWatch::to_blame(int peer) const {
  if (!has(peer, kLost)) return peer;
  const std::lock_guard lock(mutex_);
  const auto lost_at = lost_at_[static_cast<std::size_t>(peer)];
  if (Clock::now() - lost_at < kWordPatience) return std::nullopt;
  return first_lost_;
}

std::optional<int> PeerWatch::gone_for(milliseconds age) const {
  const std::lock_guard lock(mutex_);
  if (first_gone_ < 0 || Clock::now() - gone_at_ < age) return std::nullopt;
  return first_gone_;
}

Error PeerWatch::loss_of(int peer, std::string_view doing) const {
  const std::lock_guard lock(mutex_);
  const auto index = static_cast<std::size_t>(peer);
  const std::string& how = how_[index];
  return {
      Status::peer_lost,
      fmt::format("{} {} while this rank waited for it in {}; destroy or abort the communicator",
                  names_[index], how.empty() ? "is gone" : how, doing)};
}

}  // namespace gyre
