#include "bench/limits/tcp.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <limits>
#include <stdexcept>
#include <system_error>
#include <vector>

namespace gyre::limits {
namespace {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) { require(descriptor >= 0, "socket"); }
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int get() const { return descriptor_; }

  static void require(bool good, const char* what) {
    if (!good) throw std::system_error(errno, std::generic_category(), what);
  }

 private:
  int descriptor_;
};

void tune(const Socket& socket) {
  const int on = 1;
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  ::setsockopt(socket.get(), IPPROTO_TCP, TCP_CONGESTION, "cubic", 5);
}

// Both ends of one connection.
class Connection {
 public:
  Connection() : listener_(::socket(AF_INET, SOCK_STREAM, 0)), first_(dial()), second_(answer()) {
    tune(first_);
    tune(second_);
  }
  int end(std::size_t side) const { return side == 0 ? first_.get() : second_.get(); }

 private:
  int dial() const {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    auto* generic = reinterpret_cast<sockaddr*>(&address);
    Socket::require(::bind(listener_.get(), generic, size) == 0, "bind");
    Socket::require(::listen(listener_.get(), 1) == 0, "listen");
    Socket::require(::getsockname(listener_.get(), generic, &size) == 0, "getsockname");
    const int dialled = ::socket(AF_INET, SOCK_STREAM, 0);
    Socket::require(dialled >= 0 && ::connect(dialled, generic, size) == 0, "connect");
    return dialled;
  }
  int answer() const { return ::accept(listener_.get(), nullptr, nullptr); }

  const Socket listener_;
  const Socket first_;
  const Socket second_;
};

// What went through now; 0 if nothing can.
std::size_t moved(ssize_t result) {
  if (result > 0) return static_cast<std::size_t>(result);
  if (result == 0) throw std::runtime_error("the other end of the connection is gone");
  Socket::require(errno == EAGAIN || errno == EINTR, "send or recv");
  return 0;
}

// Sends and receives so many bytes, both at once.
void transfer(int end, std::vector<char>& chunk, std::size_t to_send, std::size_t to_receive,
              int flags) {
  while (to_send > 0 || to_receive > 0) {
    if (to_send > 0) {
      to_send -= moved(::send(end, chunk.data(), std::min(chunk.size(), to_send), flags));
    }
    if (to_receive > 0) {
      to_receive -= moved(::recv(end, chunk.data(), std::min(chunk.size(), to_receive), flags));
    }
  }
}

double round_trips(const Cores& cores, int flags) {
  constexpr int kTurns = 1'000;
  const Connection connection;
  const double taken = timed_together(cores, [&](std::size_t side) {
    std::vector<char> word(8);
    for (int turn = 0; turn < kTurns; ++turn) {
      if (side == 0) transfer(connection.end(0), word, word.size(), 0, flags);
      transfer(connection.end(side), word, 0, word.size(), flags);
      if (side == 1) transfer(connection.end(1), word, word.size(), 0, flags);
    }
  });
  return taken / (2 * kTurns) * 1e6;
}

double stream(const Cores& cores, bool both, std::size_t chunk_bytes) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  const Connection connection;
  const double taken = timed_together(cores, [&](std::size_t side) {
    std::vector<char> chunk(chunk_bytes);
    const std::size_t out = both || side == 0 ? kBytes : 0;
    const std::size_t in = both || side == 1 ? kBytes : 0;
    // One direction may wait; two must not, lest each waits for the other to read.
    transfer(connection.end(side), chunk, out, in, both ? MSG_DONTWAIT : 0);
  });
  return static_cast<double>(both ? 2 * kBytes : kBytes) / taken / 1e9;
}

}  // namespace

TcpRate tcp_rate(const Cores& cores, double seconds) {
  TcpRate best{.micros = std::numeric_limits<double>::max()};
  const double end = now() + seconds;
  do {
    for (const int flags : {0, static_cast<int>(MSG_DONTWAIT)}) {
      best.micros = std::min(best.micros, round_trips(cores, flags));
    }
    for (const std::size_t chunk : {std::size_t{64} << 10, std::size_t{512} << 10}) {
      best.stream_gbps = std::max(best.stream_gbps, stream(cores, false, chunk));
      best.duplex_gbps = std::max(best.duplex_gbps, stream(cores, true, chunk));
    }
  } while (now() < end);
  return best;
}

}  // namespace gyre::limits
