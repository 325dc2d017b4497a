// Ranks as processes, for the bootstrap's tests. The parent must not use Gyre itself before it
// forks: its children would be refused.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bootstrap/control.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/rendezvous.hpp"

namespace gyre::test {

// A pipe by which one process waits for another.
class Signal {
 public:
  Signal() { EXPECT_EQ(::pipe2(ends_.data(), O_CLOEXEC), 0); }
  ~Signal() {
    for (const int end : ends_) ::close(end);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void raise(std::size_t times = 1) const {
    for (std::size_t i = 0; i < times; ++i) {
      const char byte = 1;
      while (::write(ends_[1], &byte, 1) < 0 && errno == EINTR) {
      }
    }
  }
  // False if nobody raised it in time.
  bool wait(std::size_t times = 1) const {
    for (std::size_t i = 0; i < times; ++i) {
      pollfd entry{ends_[0], POLLIN, 0};
      char byte = 0;
      if (::poll(&entry, 1, 30'000) != 1 || ::read(ends_[0], &byte, 1) != 1) return false;
    }
    return true;
  }

 private:
  std::array<int, 2> ends_{};
};

class Processes {
 public:
  // Returns what went wrong, or nothing.
  using Body = std::function<std::string()>;

  ~Processes() {
    for (const pid_t pid : pids_) {
      if (pid > 0) ::kill(pid, SIGKILL);
      if (pid > 0) ::waitpid(pid, nullptr, 0);
    }
  }
  pid_t start(const Body& body) {
    const pid_t pid = ::fork();
    if (pid == 0) {
      const std::string problem = body();
      if (!problem.empty()) std::fprintf(stderr, "process %d: %s\n", ::getpid(), problem.c_str());
      ::_exit(problem.empty() ? 0 : 1);
    }
    pids_.push_back(pid);
    return pid;
  }
  // One process per rank.
  void start_ranks(int world, const std::function<std::string(int)>& body) {
    for (int rank = 0; rank < world; ++rank) start([&body, rank] { return body(rank); });
  }
  void kill(std::size_t index, int signal) { ::kill(pids_[index], signal); }
  // Waits until a SIGSTOP took effect.
  void stop(std::size_t index) {
    ::kill(pids_[index], SIGSTOP);
    int status = 0;
    ::waitpid(pids_[index], &status, WUNTRACED);
    EXPECT_TRUE(WIFSTOPPED(status));
  }
  // Every process that was not killed ended well.
  void expect_success(const std::vector<std::size_t>& killed = {}) {
    const std::vector<bool> succeeded = wait();
    for (std::size_t i = 0; i < succeeded.size(); ++i) {
      if (std::find(killed.begin(), killed.end(), i) != killed.end()) continue;
      EXPECT_TRUE(succeeded[i]) << "process " << i;
    }
  }
  // Waits for all; which of them reported no problem?
  std::vector<bool> wait() {
    std::vector<bool> succeeded;
    for (pid_t& pid : pids_) {
      int status = 0;
      ::waitpid(pid, &status, 0);
      pid = 0;
      succeeded.push_back(WIFEXITED(status) && WEXITSTATUS(status) == 0);
      if (WIFSIGNALED(status)) std::fprintf(stderr, "killed by signal %d\n", WTERMSIG(status));
      if (WIFEXITED(status) && WEXITSTATUS(status) > 1) {
        std::fprintf(stderr, "exit status %d\n", WEXITSTATUS(status));
      }
    }
    return succeeded;
  }

 private:
  std::vector<pid_t> pids_;
};

// A port that nobody uses now. Plain sockets: the parent stays clean of Gyre.
inline std::uint16_t free_port() {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(fd);
  return ntohs(address.sin6_port);
}

inline bool is_free(std::uint16_t port) {
  const int fd = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  const bool bound = ::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  ::close(fd);
  return bound;
}

// The first of `count` free ports in a row, below those that the kernel gives to connections, which
// stay taken for a minute after each.
inline std::uint16_t free_ports(int count) {
  constexpr int kBegin = 10'000, kEnd = 30'000;
  const int start = kBegin + static_cast<int>(::getpid()) % (kEnd - kBegin);
  int row = 0;
  for (int port = start; port < kEnd + count; ++port) {
    row = is_free(static_cast<std::uint16_t>(port)) ? row + 1 : 0;
    if (row == count) return static_cast<std::uint16_t>(port - count + 1);
  }
  ADD_FAILURE() << "no " << count << " free ports in a row";
  return 0;
}

// Meets the other ranks at a fixed port and opens the control star.
inline Result<std::unique_ptr<Control>> open_control(std::uint16_t port, int rank, int world,
                                                     ControlEvents* events) {
  const Deadline deadline = Deadline::after(milliseconds(20'000));
  GYRE_TRY_ASSIGN(const UniqueId id, unique_id_for("127.0.0.1:" + std::to_string(port)));
  GYRE_TRY_ASSIGN(const Endpoint own, local_endpoint());
  GYRE_TRY_ASSIGN(const Meeting meeting, meet(id, rank, world, encode(own), deadline, nullptr));
  GYRE_TRY_ASSIGN(const Endpoint root, decode_endpoint(meeting.facts[0]));
  auto control =
      Control::open(meeting.session, rank, world, reachable(root), events, deadline, nullptr);
  meeting.attendance->goodbye();
  return control;
}

}  // namespace gyre::test
