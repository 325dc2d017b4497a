#include "trainer/adamw.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace gyre::train {
namespace {

double norm_of(std::span<const float> values) {
  double squares = 0;
  for (const float value : values) squares += static_cast<double>(value) * value;
  return std::sqrt(squares);
}

}  // namespace

AdamW::AdamW(const ParameterLayout& layout, const AdamWOptions& options)
    : layout_(layout), options_(options), mean_(layout.size), variance_(layout.size) {}

double AdamW::step(float learning_rate, std::span<const float> gradients,
                   std::span<float> parameters) {
  const double norm = norm_of(gradients);
  const bool clip = options_.clip_norm > 0 && norm > static_cast<double>(options_.clip_norm);
  const float gradient_scale =
      clip ? static_cast<float>(static_cast<double>(options_.clip_norm) / norm) : 1.0F;
  beta1_power_ *= static_cast<double>(options_.beta1);
  beta2_power_ *= static_cast<double>(options_.beta2);
  for (const Tensor& tensor : layout_.tensors) {
    const bool decays =
        tensor.offset >= layout_.blocks.front().norm1_gain &&
        (tensor.kind == Tensor::Kind::weight || tensor.kind == Tensor::Kind::residual_weight);
    update(tensor.offset, tensor.offset + tensor.size,
           decays ? learning_rate * options_.weight_decay : 0.0F, learning_rate, gradient_scale,
           gradients.data(), parameters.data());
  }
  return norm;
}

void AdamW::update(std::size_t begin, std::size_t end, float decay, float rate,
                   float gradient_scale, const float* gradients, float* parameters) {
  const float beta1 = options_.beta1;
  const float beta2 = options_.beta2;
  const auto mean_scale = static_cast<float>(1.0 / (1.0 - beta1_power_));
  const auto variance_scale = static_cast<float>(1.0 / (1.0 - beta2_power_));
  float* mean = mean_.data();
  float* variance = variance_.data();
  for (std::size_t i = begin; i < end; ++i) {
    const float g = gradients[i] * gradient_scale;
    mean[i] = beta1 * mean[i] + (1.0F - beta1) * g;
    variance[i] = beta2 * variance[i] + (1.0F - beta2) * g * g;
    const float direction =
        mean[i] * mean_scale / (std::sqrt(variance[i] * variance_scale) + options_.epsilon);
    parameters[i] -= rate * direction + decay * parameters[i];
  }
}

float LearningRate::at(std::size_t step, double progress) const {
  const double warm =
      step < warmup_steps ? static_cast<double>(step + 1) / static_cast<double>(warmup_steps) : 1.0;
  double shape = 1.0;
  if (schedule == Schedule::cosine) {
    const double end = std::clamp(progress, 0.0, 1.0);
    shape = 0.1 + 0.45 * (1.0 + std::cos(std::numbers::pi * end));
  }
  return static_cast<float>(static_cast<double>(peak) * warm * shape);
}

}  // namespace gyre::train
