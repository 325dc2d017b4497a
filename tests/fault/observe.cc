#include "tests/fault/observe.hpp"

#include <linux/tcp.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>

#include "tests/fault/puppet.hpp"

namespace gyre::test {
namespace {

using Clock = std::chrono::steady_clock;

std::size_t entries_of(const char* folder) {
  return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder),
                                                std::filesystem::directory_iterator{}));
}

bool sleeps(pid_t thread) {
  std::ifstream stat("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string text;
  std::getline(stat, text);
  const std::size_t name_end = text.rfind(')');
  return name_end != std::string::npos && text.compare(name_end + 2, 1, "S") == 0;
}

std::atomic<pid_t>& thread_in_call() {
  static std::atomic<pid_t> thread{0};
  return thread;
}

}  // namespace

Usage usage() {
  std::ifstream statm("/proc/self/statm");
  std::size_t total = 0;
  std::size_t resident = 0;
  statm >> total >> resident;
  return {entries_of("/proc/self/fd"), entries_of("/proc/self/task"),
          resident * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)) / 1024};
}

std::size_t mapped_bytes() {
  std::ifstream statm("/proc/self/statm");
  std::size_t pages = 0;
  statm >> pages;
  return pages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

Outcome await_listening(unsigned port) {
  const Clock::time_point until = Clock::now() + kPatience;
  while (Clock::now() < until) {
    for (int fd = kReportsFd + 1; fd < 256; ++fd) {
      int listening = 0;
      socklen_t length = sizeof listening;
      sockaddr_in6 address{};  // large enough for both families, with the port at one place
      socklen_t address_length = sizeof address;
      if (::getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listening, &length) == 0 && listening != 0 &&
          ::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &address_length) == 0 &&
          ntohs(address.sin6_port) == port) {
        return {};
      }
    }
    std::this_thread::yield();
  }
  return wrong("nobody listens");
}

Outcome await_joined() {
  constexpr std::uint64_t kHandshakeAndGreeting = 250;
  const Clock::time_point until = Clock::now() + kPatience;
  while (Clock::now() < until) {
    for (int fd = kReportsFd + 1; fd < 256; ++fd) {
      tcp_info info{};
      socklen_t length = sizeof info;
      if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 &&
          info.tcpi_bytes_acked >= kHandshakeAndGreeting) {
        return {};
      }
    }
    std::this_thread::yield();
  }
  return wrong("nothing was sent");
}

InCall::InCall() { thread_in_call() = ::gettid(); }
InCall::~InCall() { thread_in_call() = 0; }

Outcome await_blocked() {
  constexpr int kLooks = 20;
  const Clock::time_point until = Clock::now() + kPatience;
  for (int asleep = 0; asleep < kLooks;) {
    if (Clock::now() > until) return wrong("no call waits");
    const pid_t thread = thread_in_call().load();
    asleep = thread != 0 && sleeps(thread) ? asleep + 1 : 0;
    std::this_thread::yield();
  }
  return {};
}

}  // namespace gyre::test
