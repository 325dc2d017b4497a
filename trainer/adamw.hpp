// The AdamW optimiser with clipping by global norm, and its learning rate over time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "trainer/parameters.hpp"

namespace gyre::train {

struct AdamWOptions {
  float beta1 = 0.9F;
  float beta2 = 0.95F;
  float epsilon = 1e-8F;
  float weight_decay = 0.1F;  // of weights; biases, gains and embeddings do not decay
  float clip_norm = 1.0F;     // 0: no clipping
};

class AdamW {
 public:
  AdamW(const ParameterLayout& layout, const AdamWOptions& options);

  // One update of `parameters`; returns the norm of `gradients` before clipping. Equal inputs give
  // equal bits, so ranks that hold the same sums stay the same.
  double step(float learning_rate, std::span<const float> gradients, std::span<float> parameters);

 private:
  void update(std::size_t begin, std::size_t end, float decay, float rate, float gradient_scale,
              const float* gradients, float* parameters);

  const ParameterLayout& layout_;
  AdamWOptions options_;
  std::vector<float> mean_, variance_;
  double beta1_power_ = 1.0, beta2_power_ = 1.0;
};

enum class Schedule : std::uint8_t { cosine, constant };

struct LearningRate {
  float peak = 4e-3F;
  std::size_t warmup_steps = 20;
  Schedule schedule = Schedule::cosine;

  // `progress`: how much of the run is over, 0 to 1. Cosine ends at a tenth of the peak.
  float at(std::size_t step, double progress) const;
};

}  // namespace gyre::train
