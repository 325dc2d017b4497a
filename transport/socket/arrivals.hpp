// Connections that other ranks dial to this one. The listener's thread adds them, connect() takes
// them.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <utility>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "base/fd.hpp"
#include "bootstrap/handshake.hpp"

namespace gyre::socket {

class Arrivals {
 public:
  Arrivals(std::uint32_t world, std::uint32_t streams) : world_(world), streams_(streams) {}

  // Out of range: closed at once. Of several the last counts: a dialer tries again only when it has
  // given up what it had.
  void add(const Hello& hello, Fd socket) {
    if (hello.from_rank >= world_ || hello.index >= streams_) return;
    {
      const std::lock_guard lock(mutex_);
      sockets_.insert_or_assign({static_cast<int>(hello.from_rank), hello.index},
                                std::move(socket));
    }
    changed_.notify_all();
  }

  // Waits for stream `index` from `peer`; empty at the deadline or after an abort.
  Fd take(int peer, std::uint32_t index, Deadline deadline, const AbortState* abort) {
    std::unique_lock lock(mutex_);
    for (;;) {
      if (const auto found = sockets_.find({peer, index}); found != sockets_.end()) {
        Fd socket = std::move(found->second);
        sockets_.erase(found);
        return socket;
      }
      if (deadline.expired() || (abort != nullptr && abort->raised())) return {};
      changed_.wait_for(lock, milliseconds(deadline.poll_timeout(kAbortCheck)));
    }
  }

 private:
  static constexpr milliseconds kAbortCheck{50};

  const std::uint32_t world_;
  const std::uint32_t streams_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::pair<int, std::uint32_t>, Fd> sockets_;
};

}  // namespace gyre::socket
