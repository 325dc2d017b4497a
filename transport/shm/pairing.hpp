// The state machine by which two ranks of one host come to share memory, and prove that they do:
// each reads a fresh random number in the other's inbox and writes it back there.
#pragma once

#include <sys/types.h>

#include <memory>

#include "base/bell.hpp"
#include "base/memory.hpp"
#include "transport/inbox.hpp"
#include "transport/shm/message.hpp"

namespace gyre::shm {

// What this rank hands to each of its peers. Outlives its pairings.
struct Own {
  int rank = 0;
  JobKey key;
  InboxLayout layout;
  std::byte* inbox = nullptr;
  int inbox_fd = -1;
  int bell_fd = -1;
  int event_fd = -1;
  bool read_by_address = false;  // whether process_vm_readv may be tried at all
};

// What a finished pairing leaves.
struct Joined {
  Fd socket;
  Mapping inbox;  // the peer's
  LaneView out;   // its lane for us
  Mapping bell;
  Fd event;
  ::pid_t pid = 0;                  // in our pid namespace; 0 if invisible
  bool peer_reads_address = false;  // the peer has proved that it can read our memory
};

class Pairing {
 public:
  // `lane`: which lane of our inbox is the peer's.
  Pairing(const Own& own, int peer, std::uint32_t lane) : own_(own), peer_(peer), lane_(lane) {}

  // Starts as dialer on a connected socket, or as acceptor of a socket that sent `hello`.
  Result<void> dial(Fd socket);
  Result<void> accept(Fd socket, const Message& hello);

  // Handles what arrived; returns whether the pairing is complete. Never blocks.
  Result<bool> advance();

  int fd() const { return joined_.socket.get(); }
  bool started() const { return static_cast<bool>(joined_.socket); }
  Joined take() { return std::move(joined_); }

 private:
  enum class Expect : std::uint8_t { welcome, share, proof, nothing };

  Result<void> handle(const Message& message, std::vector<Fd>& descriptors);
  Result<void> take_share(const Message& message, std::vector<Fd>& descriptors);
  Result<void> take_proof(const Message& message);
  void read_in_peer(const Message& message);
  Result<void> send_share();
  Result<void> send_proof();
  Result<void> send(Message message, std::span<const int> descriptors = {});
  Message blank(MessageType type) const;

  const Own& own_;
  int peer_;
  std::uint32_t lane_;
  bool dialer_ = false;
  Expect expect_ = Expect::nothing;
  Nonce dialer_challenge_{}, acceptor_challenge_{};
  Nonce memory_challenge_{};   // to come back through our inbox
  Nonce address_challenge_{};  // to be read at its address by the peer
  Nonce read_by_us_{};         // what we read at the peer's address
  Joined joined_;
};

// Whether the process at the other end runs under our user. Error text says who it is.
Result<::pid_t> check_credentials(const Fd& socket);

}  // namespace gyre::shm
