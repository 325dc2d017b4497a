// Pairs this rank with all its peers of one host at the same time, on the calling thread: one
// poll(2) loop over a listening socket in the abstract namespace and one socket per peer.
//
// The higher rank dials. The lower one probes the other's name, so that both notice at once when
// they cannot reach each other (another network namespace, a transport that was given up).
#pragma once

#include <array>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/abort.hpp"
#include "base/clock.hpp"
#include "transport/shm/pairing.hpp"

namespace gyre::shm {

using SocketName = std::array<std::uint8_t, 16>;

// A listening socket with a random name, non-blocking.
Result<Fd> listen_on(const SocketName& name);

class Rendezvous {
 public:
  struct Peer {
    int rank = 0;
    std::uint32_t lane = 0;  // of our inbox
    SocketName name{};
  };

  Rendezvous(const Own& own, const Fd& listener) : own_(own), listener_(listener) {}

  // Ends when every peer has joined or failed, at the deadline, or soon after an abort.
  void run(std::span<const Peer> peers, Deadline deadline, const AbortState* abort);

  std::map<int, Joined>& joined() { return joined_; }
  const std::map<int, std::string>& failures() const { return failures_; }

 private:
  void start(const Peer& peer);
  void connect(const Peer& peer);
  bool dial_again(std::span<const Peer> peers);
  void probe_again(std::span<const Peer> peers);
  void accept_all();
  void greet(std::size_t index);
  void advance(int rank);
  void fail(int rank, std::string why);
  void fail_rest(const std::string& why);

  const Own& own_;
  const Fd& listener_;
  std::map<int, std::unique_ptr<Pairing>> pairings_;  // pending
  std::vector<Fd> strangers_;                         // accepted, have not said hello
  std::map<int, Joined> joined_;
  std::map<int, std::string> failures_;
};

}  // namespace gyre::shm
