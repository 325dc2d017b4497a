// Starting one rank's process, and ending what is left of a job.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace gyre::tools {

// Descriptors are the launcher's and stay its own; -1 inherits the launcher's stream.
struct ChildSpec {
  std::vector<std::string> command;
  std::vector<std::string> environment;
  int in = -1, out = -1, err = -1;
  sigset_t mask{};  // signals blocked in the child
  int core = -1;    // the only one it runs on; -1: wherever the launcher may
};

// Starts the process. It is killed when the launcher dies, however that happens, and inherits no
// descriptor that the launcher opened. An error if the program cannot be executed.
Result<pid_t> start_child(const ChildSpec& spec);

// Orphans of dead ranks are handed to the launcher from now on, not to init.
Result<void> adopt_orphans();

// Kills every child and adopted grandchild that is left, and reaps them.
void kill_descendants();

}  // namespace gyre::tools
