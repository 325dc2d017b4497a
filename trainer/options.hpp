// What gyre-train is asked to do.
#pragma once

#include <gyre/device.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "trainer/adamw.hpp"
#include "trainer/data.hpp"
#include "trainer/parameters.hpp"
#include "trainer/sample.hpp"

namespace gyre::train {

struct Options {
  ModelShape model;
  AdamWOptions optimizer;
  LearningRate learning_rate;
  SampleOptions sample;
  std::size_t batch = 8;        // sequences of a step, all ranks together
  std::size_t micro_batch = 0;  // sequences of a pass; 0: the rank's share at once (with
                                // reproducible: 1)
  std::size_t steps = 1000;     // at most
  double seconds = 0;           // at most; 0: no limit
  std::uint64_t seed = 1;
  std::string data = kDefaultText;
  std::string device = "auto";
  std::string log_json;       // path; empty: none
  std::size_t log_every = 0;  // steps between lines; 0: about one line a second
  double bucket_mb = 1.0;     // MiB of gradients per all-reduce
  int blas_threads = 1;
  bool reproducible = false;  // also by GYRE_REPRODUCIBLE=1
};

struct ParsedOptions {
  Options options;
  bool finished = false;  // --help, or an error that is printed: end with exit_code
  int exit_code = 0;
};
ParsedOptions parse_options(int argc, const char* const* argv);

// How a rank works through its share of a step.
struct Share {
  std::size_t micro_batch;    // sequences of a pass
  std::size_t micro_batches;  // passes of a step
  std::size_t first;          // index of its first sequence in the global batch
};
// Throws std::invalid_argument if the batch cannot be divided so.
Share share_of(const Options& options, int rank, int world);

}  // namespace gyre::train
