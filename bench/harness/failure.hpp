// How a bench program ends when something goes wrong: an exception that carries the exit status.
#pragma once

#include <stdexcept>
#include <string>

namespace gyre::bench {

// The exit statuses of nccl-tests, which scripts tell apart.
enum class ExitCode : int {
  success = 0,
  internal = 1,
  device = 2,
  library = 3,
  timeout = 4,
  unsupported = 5,
  usage = 6,
  wrong_result = 7,
};

class Failure : public std::runtime_error {
 public:
  Failure(ExitCode code, const std::string& text) : std::runtime_error(text), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace gyre::bench
