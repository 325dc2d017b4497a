#include "tests/fault/faults.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>

#include "tests/fault/observe.hpp"
#include "tests/fault/puppet.hpp"

namespace gyre::test {

Outcome in_forked_child(const std::string& what, ncclComm_t comm) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::alarm(10);  // a child that hangs is a failure with a signal
    std::signal(SIGALRM, SIG_DFL);
    if (what == "exit") ::_exit(0);
    if (what == "linger") {
      ::alarm(0);
      ::prctl(PR_SET_PDEATHSIG, 0);
      // Its own pipe ends are all it may share with the parent.
      ::close(kReportsFd);
      char byte = 0;
      while (::read(kCommandsFd, &byte, 1) > 0) {
      }
      ::_exit(0);
    }
    if (what == "handlers") std::exit(0);
    if (what == "exec") {
      ::execl("/bin/true", "true", nullptr);
      ::_exit(1);
    }
    if (what == "call") {
      float value = 1;
      const ncclResult_t code =
          ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, nullptr);
      const ncclResult_t destroyed = ncclCommDestroy(comm);
      ncclUniqueId id;
      const ncclResult_t made = ncclGetUniqueId(&id);
      const bool refused =
          code == ncclInvalidUsage && destroyed == ncclInvalidUsage && made == ncclInvalidUsage;
      ::_exit(refused ? 0 : 1);
    }
    ::_exit(2);
  }
  if (what == "linger") return {};
  int status = -1;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status == 0) return {};
  return wrong("the child's status is " + std::to_string(status));
}

Outcome storm(std::istream& arguments) {
  long interval_us = 0;
  arguments >> interval_us;
  struct sigaction action {};
  action.sa_handler = [](int) {};
  ::sigaction(SIGALRM, &action, nullptr);
  const itimerval timer{{0, interval_us}, {0, interval_us}};
  ::setitimer(ITIMER_REAL, &timer, nullptr);
  return {};
}

Outcome limit_descriptors(std::istream& arguments) {
  rlimit limit{};
  arguments >> limit.rlim_cur >> limit.rlim_max;
  if (limit.rlim_max == 0) {
    rlimit now{};
    ::getrlimit(RLIMIT_NOFILE, &now);
    limit.rlim_max = now.rlim_max;
  }
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? Outcome{} : wrong("setrlimit");
}

Outcome limit_memory(std::istream& arguments) {
  long kib = 0;
  arguments >> kib;
  rlimit limit{};
  ::getrlimit(RLIMIT_AS, &limit);
  limit.rlim_cur = kib < 0 ? limit.rlim_max : mapped_bytes() + (static_cast<rlim_t>(kib) << 10);
  return ::setrlimit(RLIMIT_AS, &limit) == 0 ? Outcome{} : wrong("setrlimit");
}

}  // namespace gyre::test
