// `gyre tune`: measures every schedule on ranks of this machine, for GYRE_TUNING_FILE.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "plan/tuning_table.hpp"

namespace gyre::tools {

struct TuneOptions {
  std::vector<std::uint32_t> ranks;
  std::vector<std::string> collectives;          // none: all
  std::vector<std::string> within = {"memory"};  // and, or, socket
  std::uint64_t least = 16, most = 16 << 20;
  std::uint32_t factor = 4;
  std::uint32_t rounds = 3;
  double seconds = 0.01;  // for which each size is timed, each round
  bool slices = false;    // shorter slices as well
  std::string output = "gyre-tuning.txt";
  std::string programs;  // the folder of the *_perf programs; empty: that of this one
  bool json = false;
};

// One measured size of a collective and place: the best schedule, and what runs without a table.
struct TunedSize {
  CallKind kind = CallKind::all_reduce;
  TuningPlace place;
  std::uint64_t bytes = 0;
  Choice best, untuned;
  double best_seconds = 0, untuned_seconds = 0;

  double regret() const { return untuned_seconds / best_seconds - 1; }
};

// Of the rows of one collective and place: the fastest of each size, and the row of what the cost
// model alone takes. Sizes for which that was not measured are left out.
std::vector<TunedSize> tuned_sizes(const std::vector<TuningRow>& rows, std::uint32_t cores);

// Measures, with a progress bar on standard error, writes the table (rows of other collectives and
// places that the file holds stay), and prints what was found.
Result<void> tune_command(const TuneOptions& options);

}  // namespace gyre::tools
