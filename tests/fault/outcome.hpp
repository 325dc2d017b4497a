// How one command went, and ids as words of a command.
#pragma once

#include <nccl.h>

#include <chrono>
#include <string>

namespace gyre::test {

// How long a rank itself waits for something to come true.
inline constexpr std::chrono::seconds kPatience{30};

struct Outcome {
  int code = 0;  // an ncclResult_t or kWrong
  std::string text;
};

// With the library's last error, if the code is one.
Outcome outcome_of(ncclResult_t code);
Outcome wrong(std::string text);

std::string hex(const ncclUniqueId& id);
ncclUniqueId unhex(const std::string& text);

}  // namespace gyre::test
