#include "tools/gyre/tune_arguments.hpp"

#include <string>

#include "tools/gyre/add_value.hpp"
#include "tools/gyre/ranges.hpp"

namespace gyre::tools {
CLI::App* add_tune(CLI::App& app, TuneOptions& options) {
  auto* tune = app.add_subcommand(
      "tune", "Measure the schedules on this machine: gyre tune -n 2,4 -o tuning.txt");
  tune->footer(
      "Set GYRE_TUNING_FILE to the file for rank 0. Rows of other numbers of ranks, collectives\n"
      "and ways within hosts that the file already holds stay. Nothing else should run meanwhile.");
  options.ranks = {2, 4};
  add_value(tune, "-n,--ranks", options.ranks, parse_ranks, "2..8", "Numbers of ranks (2,4)");
  tune->add_option("-c,--collectives", options.collectives, "all_reduce,all_gather,... (all)")
      ->delimiter(',');
  tune->add_option("--within", options.within,
                   "How ranks reach each other: memory, socket (memory)")
      ->delimiter(',')
      ->check(CLI::IsMember({"memory", "socket"}));
  add_value(tune, "-b,--minbytes", options.least, parse_size, "16", "Smallest message (16)");
  add_value(tune, "-e,--maxbytes", options.most, parse_size, "16M", "Largest message (16M)");
  tune->add_option("-f,--factor,--stepfactor", options.factor, "Factor between sizes (4)")
      ->check(CLI::Range(2, 1024));
  tune->add_option("--rounds", options.rounds, "How often all is measured; medians count (3)")
      ->check(CLI::Range(1, 1000));
  tune->add_option("--seconds", options.seconds, "For which each size is timed, a round (0.01)")
      ->check(CLI::Range(0.0001, 60.0))
      ->check(refuse_nan);
  tune->add_flag("--slices", options.slices, "Also with shorter slices: three times as long");
  tune->add_option("-o,--output", options.output, "The table")->capture_default_str();
  tune->add_option("--programs", options.programs,
                   "The folder of the *_perf programs (that of gyre)");
  tune->add_flag("--json", options.json, "What was found, for programs");
  return tune;
}

}  // namespace gyre::tools
