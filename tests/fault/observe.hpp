// What a rank's process can see of itself: resources, sockets, a thread that waits.
#pragma once

#include <sys/types.h>

#include <cstddef>

#include "tests/fault/outcome.hpp"

namespace gyre::test {

struct Usage {
  std::size_t descriptors = 0;
  std::size_t threads = 0;
  std::size_t resident_kib = 0;
};

Usage usage();
// Of address space.
std::size_t mapped_bytes();

// Until this process listens at the port.
Outcome await_listening(unsigned port);
// Until more than a handshake and a greeting of this process has reached another one over TCP.
Outcome await_joined();

// Marks the calling thread as in a call, for those who want to act while it waits there.
class InCall {
 public:
  InCall();
  ~InCall();
  InCall(const InCall&) = delete;
  InCall& operator=(const InCall&) = delete;
};
// Until the thread in a call has been asleep for a row of looks: it waits for a peer.
Outcome await_blocked();

}  // namespace gyre::test
