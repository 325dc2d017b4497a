#include "tools/gyre/interrupts.hpp"

#include <poll.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

namespace gyre::tools {
namespace {

sigset_t requests() {
  sigset_t set;
  sigemptyset(&set);
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&set, number);
  return set;
}

}  // namespace

Result<Interrupts> Interrupts::hold() {
  const sigset_t set = requests();
  Fd arrived(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!arrived) return system_error("gyre: signalfd", errno);
  sigset_t before;
  ::sigprocmask(SIG_BLOCK, &set, &before);
  return Interrupts(before, std::move(arrived));
}

Interrupts::Interrupts(Interrupts&& other) noexcept
    : before_(other.before_), requests_(std::move(other.requests_)) {}

Interrupts::~Interrupts() {
  if (requests_) ::sigprocmask(SIG_SETMASK, &before_, nullptr);
}

Result<int> Interrupts::await(pid_t child) const {
  const Fd end(static_cast<int>(::syscall(SYS_pidfd_open, child, 0)));
  if (!end) return system_error("gyre: pidfd_open", errno);
  std::array<pollfd, 2> waits = {{{end.get(), POLLIN, 0}, {requests_.get(), POLLIN, 0}}};
  while (::poll(waits.data(), waits.size(), -1) < 0 && errno == EINTR) {
  }
  // The request stays pending: whoever made it is obeyed when everything is cleared away.
  if ((waits[0].revents & POLLIN) == 0) ::kill(child, SIGTERM);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace gyre::tools
