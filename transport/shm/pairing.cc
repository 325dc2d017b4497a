#include "transport/shm/pairing.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace gyre::shm {
namespace {

constexpr std::uint32_t kMaxLanes = 1U << 20;

Error refused(std::string_view why) {
  return {Status::system, fmt::format("hand-over of shared memory failed: {}", why)};
}

}  // namespace

Result<::pid_t> check_credentials(const Fd& socket) {
  struct ucred peer {};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) {
    return system_error("asking who is at the other end of a unix socket (SO_PEERCRED)", errno);
  }
  if (peer.uid != ::geteuid()) {
    return refused(fmt::format("the other process runs under user {}, this one under {}", peer.uid,
                               ::geteuid()));
  }
  return peer.pid;
}

Message Pairing::blank(MessageType type) const {
  Message message;
  message.type = type;
  message.from = own_.rank;
  message.to = peer_;
  message.job = own_.key.nonce;
  return message;
}

Result<void> Pairing::send(Message message, std::span<const int> descriptors) {
  if (message.type != MessageType::hello) {
    message.mac =
        message_mac(own_.key.secret, dialer_, dialer_challenge_, acceptor_challenge_, message);
  }
  GYRE_TRY_ASSIGN(const bool sent, send_message(joined_.socket, message, descriptors));
  // A fresh socket holds far more than the six messages of a pairing.
  if (!sent) return refused("the socket is full");
  return {};
}

Result<void> Pairing::dial(Fd socket) {
  GYRE_TRY_ASSIGN(joined_.pid, check_credentials(socket));
  joined_.socket = std::move(socket);
  dialer_ = true;
  fill_random(dialer_challenge_);
  Message hello = blank(MessageType::hello);
  hello.nonce = dialer_challenge_;
  expect_ = Expect::welcome;
  return send(hello);
}

Result<void> Pairing::accept(Fd socket, const Message& hello) {
  GYRE_TRY_ASSIGN(joined_.pid, check_credentials(socket));
  joined_.socket = std::move(socket);
  dialer_challenge_ = hello.nonce;
  fill_random(acceptor_challenge_);
  Message welcome = blank(MessageType::welcome);
  welcome.nonce = acceptor_challenge_;
  expect_ = Expect::share;
  return send(welcome);
}

Result<bool> Pairing::advance() {
  Message message;
  std::vector<Fd> descriptors;
  while (expect_ != Expect::nothing) {
    GYRE_TRY_ASSIGN(const Received received, receive_message(joined_.socket, message, descriptors));
    if (received == Received::nothing) return false;
    if (received == Received::end) return refused("the other rank gave up");
    if (received == Received::cut) return refused(kCutOff);
    GYRE_TRY(handle(message, descriptors));
  }
  return true;
}

Result<void> Pairing::handle(const Message& message, std::vector<Fd>& descriptors) {
  if (message.from != peer_ || message.to != own_.rank || message.job != own_.key.nonce) {
    return refused("a message meant for others");
  }
  if (expect_ == Expect::welcome) acceptor_challenge_ = message.nonce;
  const Mac expected =
      message_mac(own_.key.secret, !dialer_, dialer_challenge_, acceptor_challenge_, message);
  if (!equal_macs(expected, message.mac)) return refused("the other side does not know the secret");

  if (expect_ == Expect::welcome && message.type == MessageType::welcome) {
    expect_ = Expect::share;
    return send_share();
  }
  if (expect_ == Expect::share && message.type == MessageType::share) {
    GYRE_TRY(take_share(message, descriptors));
    expect_ = Expect::proof;
    return dialer_ ? send_proof() : send_share();
  }
  if (expect_ == Expect::proof && message.type == MessageType::proof) {
    GYRE_TRY(take_proof(message));
    expect_ = Expect::nothing;
    return dialer_ ? Result<void>{} : send_proof();
  }
  return refused(fmt::format("message {} out of order", static_cast<std::uint32_t>(message.type)));
}

Result<void> Pairing::send_share() {
  fill_random(memory_challenge_);
  fill_random(address_challenge_);
  std::memcpy(own_.layout.proof(own_.inbox, lane_)->challenge, memory_challenge_.data(),
              memory_challenge_.size());
  Message share = blank(MessageType::share);
  share.lanes = own_.layout.lanes;
  share.lane = lane_;
  share.slots = own_.layout.slots;
  share.slot_bytes = own_.layout.slot_bytes;
  share.reads_address = own_.read_by_address ? 1 : 0;
  share.address = reinterpret_cast<std::uint64_t>(address_challenge_.data());
  const std::array<int, kMaxDescriptors> fds{own_.inbox_fd, own_.bell_fd, own_.event_fd};
  return send(share, fds);
}

Result<void> Pairing::take_share(const Message& message, std::vector<Fd>& descriptors) {
  if (descriptors.size() != kMaxDescriptors) return refused("descriptors are missing");
  if (message.slots != own_.layout.slots || message.slot_bytes != own_.layout.slot_bytes) {
    return refused(
        fmt::format("the ranks disagree about slots: {} of {} bytes here, {} of {} "
                    "there (GYRE_SLOTS, GYRE_SLOT_BYTES)",
                    own_.layout.slots, own_.layout.slot_bytes, message.slots, message.slot_bytes));
  }
  if (message.lanes > kMaxLanes || message.lane >= message.lanes) return refused("no such lane");
  const InboxLayout theirs{message.lanes, message.slots, message.slot_bytes};
  GYRE_TRY(check_segment(descriptors[0], theirs.total_bytes()));
  GYRE_TRY(check_segment(descriptors[1], sizeof(BellWord)));
  // Ringing must never block, whatever it is that we were given.
  const int flags = ::fcntl(descriptors[2].get(), F_GETFL);
  if (flags < 0 || (flags & O_NONBLOCK) == 0) return refused("the bell's descriptor can block");

  GYRE_TRY_ASSIGN(joined_.inbox, Mapping::shared(descriptors[0], theirs.total_bytes()));
  advise_inbox(joined_.inbox, theirs);
  GYRE_TRY_ASSIGN(joined_.bell, Mapping::shared(descriptors[1], sizeof(BellWord)));
  joined_.event = std::move(descriptors[2]);
  joined_.out = theirs.view(joined_.inbox.data(), message.lane);
  ProofLine* proof = theirs.proof(joined_.inbox.data(), message.lane);
  std::memcpy(proof->echo, proof->challenge, sizeof proof->echo);
  read_in_peer(message);
  return {};
}

// Reads the peer's number through process_vm_readv; failure only means that it is not permitted.
void Pairing::read_in_peer(const Message& message) {
  if (!own_.read_by_address || message.reads_address == 0 || joined_.pid <= 0) return;
  const iovec into{read_by_us_.data(), read_by_us_.size()};
  const iovec from{reinterpret_cast<void*>(message.address), read_by_us_.size()};
  if (::process_vm_readv(joined_.pid, &into, 1, &from, 1, 0) !=
      static_cast<ssize_t>(read_by_us_.size())) {
    read_by_us_ = {};
  }
}

Result<void> Pairing::send_proof() {
  Message proof = blank(MessageType::proof);
  proof.nonce = read_by_us_;
  return send(proof);
}

Result<void> Pairing::take_proof(const Message& message) {
  const ProofLine* proof = own_.layout.proof(own_.inbox, lane_);
  if (std::memcmp(proof->echo, memory_challenge_.data(), sizeof proof->echo) != 0) {
    return refused("the other rank does not see this rank's memory");
  }
  joined_.peer_reads_address = own_.read_by_address && message.nonce == address_challenge_;
  return {};
}

}  // namespace gyre::shm
