// Where every parameter of the model lies in one flat array.
//
// The order is that of the forward pass. The backward pass finishes gradients from the end of the
// array to its beginning, so "everything from offset x on is final" is a single number, and buckets
// of gradients are plain ranges of the array.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace gyre::train {

inline constexpr std::size_t kBytes = 256;  // the vocabulary

// By default small enough to see a million bytes within a minute on two cores, which teaches more
// than a larger model learns from fewer.
struct ModelShape {
  std::size_t layers = 3;
  std::size_t heads = 3;
  std::size_t width = 96;
  std::size_t context = 64;
};
// Throws std::invalid_argument, naming the value that cannot be.
void check(const ModelShape& shape);

// Offsets of one transformer block's tensors. Weights are [inputs, outputs].
struct BlockLayout {
  std::size_t norm1_gain, norm1_shift, qkv_weight, qkv_bias, out_weight, out_bias;
  std::size_t norm2_gain, norm2_shift, up_weight, up_bias, down_weight, down_bias;
};

struct Tensor {
  std::string name;
  std::size_t offset, size;
  enum class Kind : std::uint8_t { weight, residual_weight, bias, gain } kind;
};

struct ParameterLayout {
  explicit ParameterLayout(const ModelShape& shape);

  std::size_t byte_embedding, position_embedding;  // [256, width], [context, width]
  std::vector<BlockLayout> blocks;
  std::size_t norm_gain, norm_shift, head_weight;  // [width], [width], [width, 256]
  std::size_t size = 0;                            // of all
  std::vector<Tensor> tensors;                     // in order, without gaps
};

// GPT-2's initial values: normal weights of deviation 0.02, smaller by sqrt(2 layers) where they
// feed the residual stream. The same for equal seeds on every machine.
void initialize(const ModelShape& shape, const ParameterLayout& layout, std::uint64_t seed,
                std::span<float> parameters);

}  // namespace gyre::train
