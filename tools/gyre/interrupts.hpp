// Requests to end, held back while there is something to clear away.
#pragma once

#include <sys/types.h>

#include <csignal>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace gyre::tools {

// While it lives SIGINT, SIGTERM and SIGHUP wait; when it goes they do what they would have done,
// which mostly is to end the process.
class Interrupts {
 public:
  static Result<Interrupts> hold();
  Interrupts(Interrupts&& other) noexcept;
  Interrupts& operator=(Interrupts&&) = delete;
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;
  ~Interrupts();

  // What was blocked before, for a child.
  const sigset_t& before() const { return before_; }

  // Waits for the child's end; the status is waitpid's. At a request it is asked to end as well.
  Result<int> await(pid_t child) const;

 private:
  Interrupts(const sigset_t& before, Fd requests)
      : before_(before), requests_(std::move(requests)) {}

  sigset_t before_;
  Fd requests_;  // signalfd; empty: moved from
};

}  // namespace gyre::tools
