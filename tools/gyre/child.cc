#include "tools/gyre/child.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>

#include "base/fd.hpp"

namespace gyre::tools {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> list;
  list.reserve(strings.size() + 1);
  for (const auto& string : strings) list.push_back(const_cast<char*>(string.c_str()));
  list.push_back(nullptr);
  return list;
}

bool stay_on(int core) {
  if (core < 0) return true;
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(static_cast<std::size_t>(core), &only);
  return ::sched_setaffinity(0, sizeof only, &only) == 0;
}

bool redirect(int from, int to) { return from < 0 || ::dup2(from, to) >= 0; }

// Runs in the child: only async-signal-safe calls. Returns only with errno set.
void become(const ChildSpec& spec, char* const* command, char* const* environment, pid_t launcher) {
  if (::prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return;
  // The launcher may have died before the request was in force.
  if (::getppid() != launcher) ::_exit(128 + SIGKILL);
  if (!redirect(spec.in, 0) || !redirect(spec.out, 1) || !redirect(spec.err, 2)) return;
  if (!stay_on(spec.core)) return;
  ::signal(SIGPIPE, SIG_DFL);
  if (::sigprocmask(SIG_SETMASK, &spec.mask, nullptr) != 0) return;
  ::execvpe(command[0], command, environment);
}

// Children of this process, adopted ones included.
std::vector<pid_t> children() {
  std::ifstream list(fmt::format("/proc/self/task/{}/children", ::getpid()));
  std::vector<pid_t> pids;
  for (pid_t pid = 0; list >> pid;) pids.push_back(pid);
  return pids;
}

}  // namespace

Result<pid_t> start_child(const ChildSpec& spec) {
  const auto command = pointers(spec.command);
  const auto environment = pointers(spec.environment);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("gyre run: pipe", errno);
  const Fd report(ends[0]);
  Fd failure(ends[1]);
  const pid_t launcher = ::getpid();
  // Not fork(): its handlers close every descriptor of Gyre, and the child needs the pipes.
  const pid_t pid = ::_Fork();
  if (pid < 0) return system_error("gyre run: fork", errno);
  if (pid == 0) {
    become(spec, command.data(), environment.data(), launcher);
    const int reason = errno;
    [[maybe_unused]] const ssize_t written = ::write(failure.get(), &reason, sizeof reason);
    ::_exit(127);
  }
  failure.reset();
  int reason = 0;
  // execve closes the pipe: end of file means that the program runs.
  if (::read(report.get(), &reason, sizeof reason) == static_cast<ssize_t>(sizeof reason)) {
    ::waitpid(pid, nullptr, 0);
    return system_error(fmt::format("gyre run: cannot run '{}'", spec.command.front()), reason);
  }
  return pid;
}

Result<void> adopt_orphans() {
  if (::prctl(PR_SET_CHILD_SUBREAPER, 1) != 0) return system_error("gyre run: subreaper", errno);
  return {};
}

void kill_descendants() {
  // A killed process hands its own children over, so look again until there is none.
  for (auto pids = children(); !pids.empty(); pids = children()) {
    for (const pid_t pid : pids) ::kill(pid, SIGKILL);
    for (const pid_t pid : pids) ::waitpid(pid, nullptr, 0);
  }
}

}  // namespace gyre::tools
