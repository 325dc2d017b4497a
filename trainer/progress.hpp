// What a run tells of itself: a line now and then, and one JSON object per step if asked.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string>

namespace gyre::train {

struct StepReport {
  std::size_t step = 0;  // from 1
  double loss = 0;       // mean over the step's targets, all ranks
  double norm = 0;       // of the gradient
  float learning_rate = 0;
  std::size_t tokens = 0;  // of all ranks
  double step_ms = 0;
  double busy_ms = 0;    // the communication stream was at work
  double waited_ms = 0;  // the training waited for it
};

class Progress {
 public:
  // `json_path`: empty for none. `every`: steps between lines; 0: about one a second. A quiet
  // progress (ranks other than 0) says nothing. Throws std::runtime_error.
  Progress(bool quiet, std::size_t steps, std::size_t every, const std::string& json_path);

  void report(const StepReport& step, bool last);
  void finish(double held_out_loss, std::uint64_t parameter_hash, double seconds);

 private:
  void print_line(const StepReport& step);
  void write_json(const StepReport& step);

  bool quiet_;
  std::size_t steps_, every_;
  std::ofstream json_;
  std::chrono::steady_clock::time_point last_line_;
  // Since the last line
  std::size_t seen_ = 0, tokens_ = 0;
  double ms_ = 0, busy_ms_ = 0, waited_ms_ = 0;
};

}  // namespace gyre::train
