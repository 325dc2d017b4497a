// A file descriptor that closes itself, and that a forked child drops.
//
// Every descriptor Gyre opens is close-on-exec, and recorded in one process-wide bitmap, but for
// the log's file. The pthread_atfork child handler closes what is recorded, so that a forked child
// (a data loader, say) does not keep a dead rank's sockets open and so hide its death from the
// peers.
//
// One gap is left: what another thread is just opening when the process forks is not recorded yet,
// and stays open in that child until it executes a program or ends. A lock that closed it would
// have to be held around every call that makes a descriptor, accept4 and recvmsg included.
#pragma once

#include <utility>

namespace gyre {

class Fd {
 public:
  Fd() = default;
  explicit Fd(int fd);  // takes ownership of an open descriptor; negative means none
  Fd(Fd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Fd& operator=(Fd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~Fd() { reset(); }

  int get() const { return fd_; }
  explicit operator bool() const { return fd_ >= 0; }
  void reset();

 private:
  int fd_ = -1;
};

// Closes every descriptor recorded by Fd. Async-signal-safe; for the fork handler alone.
void close_all_descriptors_in_child();

}  // namespace gyre
