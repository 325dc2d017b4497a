// The command line of every *_perf program: nccl-tests' options, plus --device and --lib.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "bench/harness/sizes.hpp"
#include "nccl.h"

namespace gyre::bench {

enum class Blocking : int { none = 0, wait_and_barrier = 1, wait = 2, outer = 3 };
enum class Average : int { rank0 = 0, mean = 1, min = 2, max = 3 };
enum class Registration : int { none = 0, local = 1, window = 2 };
enum class Memory { library, plain };  // ncclMemAlloc's, or malloc's (host ranks)

inline constexpr int kAll = -1;

struct Options {
  int threads = 1;
  int gpus = 1;  // ranks of each thread
  std::size_t min_bytes = 32U << 20;
  std::size_t max_bytes = 32U << 20;
  std::size_t step_bytes = 1U << 20;
  std::size_t step_factor = 1;
  int iters = 20;
  double seconds = 0;  // > 0: as many iterations, at least `iters`, as fill this
  int warmup_iters = 1;
  int agg_iters = 1;
  int run_cycles = 1;  // 0: for ever
  int check = 1;
  int op = ncclSum;        // or kAll
  int type = ncclFloat32;  // or kAll
  int root = 0;            // or kAll
  bool parallel_init = false;
  Blocking blocking = Blocking::none;
  bool null_stream = false;
  int timeout_s = 0;  // 0: none
  bool report_cputime = false;
  bool report_timestamps = false;
  Average average = Average::mean;
  Registration registration = Registration::none;
  Memory memory = Memory::library;
  int cta_policy = -1;  // -1: the library's default
  std::string output_file;
  bool memory_report = false;
  std::size_t unalign = 0;  // elements
  bool per_iter_timing = false;
  int per_iter_skip = 0;
  std::string device;  // host, cuda, hip, auto; empty: GYRE_DEVICE decides
  std::string nccl;    // path of the library to measure; empty: the one beside the program

  Sweep sweep() const { return {min_bytes, max_bytes, step_bytes, step_factor}; }
};

struct ParsedOptions {
  enum class Action { run, help, refuse };
  Action action = Action::run;
  Options options;
  std::string error;               // why it is refused
  std::vector<std::string> notes;  // what was changed, to be said on stderr
};

// Parses argv (argv[0] is the program). Not thread-safe: it uses getopt.
ParsedOptions parse_options(int argc, char* const argv[]);

std::string usage_text(const std::string& program);

}  // namespace gyre::bench
