// The training loop of one rank.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/data.hpp"
#include "trainer/gradient_sync.hpp"
#include "trainer/model.hpp"
#include "trainer/options.hpp"
#include "trainer/pairwise_sum.hpp"
#include "trainer/progress.hpp"

namespace gyre::train {

class Trainer {
 public:
  // `sum` adds over `world` ranks. All ranks start from the same seed, so the same parameters.
  Trainer(const Options& options, const Text& text, const Device& device, SumOverRanks& sum,
          int rank, int world);

  // Steps until options.steps or options.seconds is over, which all ranks decide alike.
  void run(Progress& progress);

  Model& model() { return model_; }
  std::span<float> parameters() { return parameters_; }
  std::size_t parameter_count() const { return parameters_.size(); }
  double held_out_loss();

 private:
  // The gradient array begins with numbers that ride along in its last bucket: the sum of the
  // losses, and how much of the time limit is over, by each rank's clock. 64 bytes keep the rest
  // aligned.
  static constexpr std::size_t kLossSlot = 0, kTimeSlot = 1, kSlots = 16;

  // Runs step `index` (from 0); `over`: this rank's share of the time limit that is over.
  StepReport step(std::size_t index, double over);
  void accumulate(std::size_t index);
  void one_pass(std::size_t index, std::size_t pass, bool send);
  MicroBatch load(std::size_t index, std::size_t pass);

  const Options& options_;
  const Text& text_;
  Share share_;
  int world_;
  Model model_;
  std::vector<float> parameters_;
  std::vector<float> gradients_;  // kSlots, then as the parameters
  std::vector<std::uint8_t> inputs_, targets_;
  AdamW optimizer_;
  PairwiseSum passes_;
  double time_over_ = 0;  // the mean of all ranks, at the latest step
  GradientSync sync_;
};

// FNV-1a over the bytes: equal for equal bits.
std::uint64_t hash_of(std::span<const float> values);

}  // namespace gyre::train
