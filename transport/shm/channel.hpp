// The unix connection of a pair after pairing: its end shows the peer's death at once, and regions
// are handed over on it.
//
// Threads: the reactor receives; the executor shares regions and, while it waits for one, receives
// too; any thread that frees a region announces that. All of it is under one mutex, never taken on
// the path of a slice that needs no new region.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "bootstrap/reactor.hpp"
#include "transport/shm/message.hpp"
#include "transport/shm/peer_memory.hpp"
#include "transport/transport.hpp"

namespace gyre::shm {

using RegionMap = std::map<std::uint64_t, std::shared_ptr<const PeerMemory>>;

class Channel : public std::enable_shared_from_this<Channel> {
 public:
  // `gone` is set when a region of the peer is gone that was mapped here; may be null.
  Channel(int rank, int peer, Fd socket, ::pid_t pid,
          std::shared_ptr<std::atomic<bool>> gone = nullptr);

  // Begins to watch the peer's life; `events` until close().
  void start(PeerEvents* events);
  // With `goodbye` the peer takes the end of this connection for no loss. Waits for a handler that
  // runs on the reactor, for nothing else.
  void close(bool goodbye);

  // Hands region `id` to the peer unless that was done before; never blocks. False: it cannot be.
  bool share(std::uint64_t id, std::uint64_t bytes);
  // The region is gone here: the peer unmaps it.
  void forget(std::uint64_t id);

  // Receives what is there. Any thread.
  void receive();
  // Grows whenever regions() would give something new.
  std::uint64_t version() const { return version_.load(std::memory_order_acquire); }
  RegionMap regions() const;
  bool ended() const { return ended_.load(std::memory_order_acquire); }
  int fd() const { return socket_.get(); }
  ::pid_t pid() const { return pid_; }

 private:
  struct Outgoing {
    Message message;
    Fd descriptor;
  };

  void receive_locked();
  void take_region(const Message& message, std::vector<Fd>& descriptors);
  bool send_or_queue(Outgoing outgoing);
  void flush_locked();
  void end_locked(std::string how);
  void tell();
  Message blank(MessageType type) const;

  const int rank_;
  const int peer_;
  const ::pid_t pid_;
  Fd socket_;
  Fd process_;  // pidfd; may be empty
  const std::shared_ptr<std::atomic<bool>> gone_;
  std::atomic<std::uint64_t> version_{0};
  std::atomic<bool> ended_{false};

  mutable std::mutex mutex_;  // everything below
  RegionMap regions_;         // of the peer, mapped here
  std::set<std::uint64_t> shared_;
  std::deque<Outgoing> queue_;
  PeerEvents* events_ = nullptr;
  bool left_ = false;  // the peer said goodbye
  bool told_ = false;
  std::string how_;
  Reactor::Token socket_token_;
  Reactor::Token process_token_;
};

}  // namespace gyre::shm
