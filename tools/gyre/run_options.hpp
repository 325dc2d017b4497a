// What `gyre run` was asked to do.
#pragma once

#include <string>
#include <vector>

#include "base/clock.hpp"
#include "tools/gyre/binding.hpp"

namespace gyre::tools {

struct RunOptions {
  int ranks = 1;
  std::vector<std::string> environment;  // "NAME=value", the same for every rank
  Binding binding = Binding::none;
  bool tag_output = false;           // "[rank] " before every line
  bool keep_going = false;           // a failed rank does not end the others
  milliseconds timeout{0};           // 0: none
  milliseconds grace{5000};          // between SIGTERM and SIGKILL
  std::vector<std::string> command;  // program and arguments
};

}  // namespace gyre::tools
