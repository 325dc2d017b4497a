// One launch of a *_perf program on ranks of this machine, and what it measured.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "plan/choices.hpp"

namespace gyre::tools {

struct TuneLaunch {
  CallKind kind = CallKind::all_reduce;
  std::uint32_t ranks = 2;
  Choice choice;
  bool memory = true;  // else ranks reach each other by sockets alone
  std::uint64_t least = 16, most = 64 << 20, factor = 4;  // message sizes
  double seconds = 0.01;                                  // for which each size is timed
  std::string programs;                                   // the folder of the *_perf programs
};

struct Measured {
  std::uint64_t bytes = 0;  // as the program cut the size asked for
  double seconds = 0;
};

// Error: how the program failed, or that results were wrong.
Result<std::vector<Measured>> measure(const TuneLaunch& launch);

// The rows of a *_perf program's report. Error: it is none, or results were wrong.
Result<std::vector<Measured>> read_report(CallKind kind, std::string_view json);

}  // namespace gyre::tools
