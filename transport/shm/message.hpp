// What two processes of one host say to each other over a unix socket while they set shared memory
// up, and later to hand regions over. Every message has the same size, so the parser is one check;
// SOCK_SEQPACKET keeps messages and their descriptors together.
//
//   dialer                                   acceptor
//   hello{challenge}                      ->
//                                         <- welcome{challenge, mac}
//   share{inbox, bell, eventfd; mac}      ->
//                                         <- share{inbox, bell, eventfd; mac}
//   proof{what was read; mac}             ->
//                                         <- proof{what was read; mac}
//   afterwards, either way: region{descriptor}, region_gone, goodbye
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/job_key.hpp"

namespace gyre::shm {

enum class MessageType : std::uint32_t {
  hello = 1,
  welcome,
  share,
  proof,
  region,
  region_gone,
  goodbye,
};

struct Message {
  static constexpr std::uint32_t kMagic = 0x47595231;  // "GYR1"

  std::uint32_t magic = kMagic;
  MessageType type = MessageType::hello;
  std::int32_t from = 0;
  std::int32_t to = 0;
  Nonce job{};
  Nonce nonce{};            // hello, welcome: challenge; proof: what was read in the peer
  std::uint32_t lanes = 0;  // share: the inbox's layout,
  std::uint32_t lane = 0;   //        and which of its lanes is for the receiver
  std::uint32_t slots = 0;
  std::uint32_t reads_address = 0;  // share: `address` is valid
  std::uint64_t slot_bytes = 0;
  std::uint64_t address = 0;  // share: where to read the proof of process_vm_readv
                              // region: where in its file it begins
  std::uint64_t region = 0;   // region, region_gone
  std::uint64_t bytes = 0;    // region
  Mac mac{};
};
static_assert(std::is_trivially_copyable_v<Message>);
static_assert(sizeof(Message) == 128, "no padding: the mac covers every byte");

inline constexpr std::size_t kMaxDescriptors = 3;

// `cut`: a message whose descriptors did not all come (a full descriptor table does that, or more
// than any rank sends); those that came are closed.
enum class Received : std::uint8_t { message, cut, nothing, end };
inline constexpr std::string_view kCutOff =
    "descriptors handed over by a rank of this host were cut off (more than expected, or the limit "
    "of open files, ulimit -n, is reached)";

// Receives one message without blocking. Errors: a wrong size or magic, or the socket's own.
Result<Received> receive_message(const Fd& socket, Message& message, std::vector<Fd>& descriptors);

// Sends without blocking; false: the socket is full.
Result<bool> send_message(const Fd& socket, const Message& message,
                          std::span<const int> descriptors = {});

// The mac of `message` (its own mac field counts as zero), sent by the dialer or the acceptor of a
// connection with these two challenges.
Mac message_mac(const Secret& secret, bool from_dialer, const Nonce& dialer, const Nonce& acceptor,
                const Message& message);

}  // namespace gyre::shm
