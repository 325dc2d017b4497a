#include "trainer/parameters.hpp"

#include <fmt/format.h>

#include <cmath>
#include <numbers>
#include <stdexcept>

#include "trainer/random.hpp"

namespace gyre::train {
namespace {

constexpr float kWeightDeviation = 0.02F;

// Standard normal numbers by the Box-Muller transform of counted random numbers.
float normal(std::uint64_t seed, std::uint64_t index) {
  const double u = 1.0 - unit_interval(mix(mix(seed) ^ (2 * index)));
  const double v = unit_interval(mix(mix(seed) ^ (2 * index + 1)));
  return static_cast<float>(std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v));
}

}  // namespace

void check(const ModelShape& shape) {
  const auto refuse = [](const std::string& text) { throw std::invalid_argument(text); };
  if (shape.layers == 0) refuse("--layers must be at least 1");
  if (shape.heads == 0) refuse("--heads must be at least 1");
  if (shape.context < 2) refuse("--context must be at least 2");
  if (shape.width == 0 || shape.width % shape.heads != 0) {
    refuse(fmt::format("--width {} must be a positive multiple of --heads {}", shape.width,
                       shape.heads));
  }
}

ParameterLayout::ParameterLayout(const ModelShape& shape) {
  using Kind = Tensor::Kind;
  const std::size_t width = shape.width;
  const auto add = [this](std::string name, std::size_t count, Kind kind) {
    tensors.push_back({std::move(name), size, count, kind});
    size += count;
    return tensors.back().offset;
  };
  byte_embedding = add("byte_embedding", kBytes * width, Kind::weight);
  position_embedding = add("position_embedding", shape.context * width, Kind::weight);
  for (std::size_t layer = 0; layer < shape.layers; ++layer) {
    const auto named = [&](const char* name) { return fmt::format("block{}.{}", layer, name); };
    BlockLayout b{};
    b.norm1_gain = add(named("norm1_gain"), width, Kind::gain);
    b.norm1_shift = add(named("norm1_shift"), width, Kind::bias);
    b.qkv_weight = add(named("qkv_weight"), width * 3 * width, Kind::weight);
    b.qkv_bias = add(named("qkv_bias"), 3 * width, Kind::bias);
    b.out_weight = add(named("out_weight"), width * width, Kind::residual_weight);
    b.out_bias = add(named("out_bias"), width, Kind::bias);
    b.norm2_gain = add(named("norm2_gain"), width, Kind::gain);
    b.norm2_shift = add(named("norm2_shift"), width, Kind::bias);
    b.up_weight = add(named("up_weight"), width * 4 * width, Kind::weight);
    b.up_bias = add(named("up_bias"), 4 * width, Kind::bias);
    b.down_weight = add(named("down_weight"), 4 * width * width, Kind::residual_weight);
    b.down_bias = add(named("down_bias"), width, Kind::bias);
    blocks.push_back(b);
  }
  norm_gain = add("norm_gain", width, Kind::gain);
  norm_shift = add("norm_shift", width, Kind::bias);
  head_weight = add("head_weight", width * kBytes, Kind::weight);
}

void initialize(const ModelShape& shape, const ParameterLayout& layout, std::uint64_t seed,
                std::span<float> parameters) {
  const float residual_deviation =
      kWeightDeviation / std::sqrt(2.0F * static_cast<float>(shape.layers));
  for (const Tensor& tensor : layout.tensors) {
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      switch (tensor.kind) {
        case Tensor::Kind::weight:
          parameters[i] = kWeightDeviation * normal(seed, i);
          break;
        case Tensor::Kind::residual_weight:
          parameters[i] = residual_deviation * normal(seed, i);
          break;
        case Tensor::Kind::bias:
          parameters[i] = 0.0F;
          break;
        case Tensor::Kind::gain:
          parameters[i] = 1.0F;
          break;
      }
    }
  }
}

}  // namespace gyre::train
