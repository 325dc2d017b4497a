// main() of every *_perf program.
#pragma once

#include "bench/harness/collective.hpp"

namespace gyre::bench {

// Parses the command line, meets the other processes, measures and prints. Returns the exit status
// (ExitCode): 7 for wrong elements or a bandwidth below 0.9 * NCCL_TESTS_MIN_BW.
int run_program(int argc, char* argv[], const Collective& collective);

}  // namespace gyre::bench
