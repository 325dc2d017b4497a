// The byte-level GPT: forward and backward pass of one micro-batch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "trainer/attention.hpp"
#include "trainer/parameters.hpp"

namespace gyre::train {

// Some sequences of `context` bytes and, for each position, the byte that follows it.
struct MicroBatch {
  std::size_t sequences = 0;
  std::span<const std::uint8_t> inputs;   // [sequences, context]
  std::span<const std::uint8_t> targets;  // [sequences, context]
};

class Model {
 public:
  // Keeps activations for micro-batches of up to `sequences`.
  Model(const ModelShape& shape, std::size_t sequences);

  const ModelShape& shape() const { return shape_; }
  const ParameterLayout& layout() const { return layout_; }

  // Logits [sequences, context, 256] of the inputs; valid until the next call.
  std::span<float> forward(std::span<const float> parameters, std::size_t sequences,
                           std::span<const std::uint8_t> inputs);

  // The sum of the losses of all targets. Adds `scale` times its gradient to `gradients`, and calls
  // `final_from(offset)` each time that all gradients from that offset on are complete.
  double backward(std::span<const float> parameters, const MicroBatch& batch, float scale,
                  std::span<float> gradients, const std::function<void(std::size_t)>& final_from);

 private:
  struct Block {
    std::vector<float> input, norm1, mean1, scale1, qkv, probabilities, attended;
    std::vector<float> middle, norm2, mean2, scale2, up, gate, active;
  };
  void embed(const float* parameters, std::size_t sequences, std::span<const std::uint8_t> inputs);
  void block_forward(const float* parameters, const BlockLayout& at, Block& block,
                     std::size_t sequences, float* output);
  // `stream_gradient_` is the gradient of the block's output before, of its input after.
  void block_backward(const float* parameters, const BlockLayout& at, const Block& block,
                      std::size_t sequences, float* gradients);
  void embed_backward(const MicroBatch& batch, float* gradients);
  AttentionShape attention_shape(std::size_t sequences) const;

  ModelShape shape_;
  ParameterLayout layout_;
  std::vector<Block> blocks_;
  std::vector<float> output_, norm_, mean_, scale_, logits_;
  std::vector<float> stream_gradient_, narrow_gradient_, wide_gradient_, score_gradient_;
};

}  // namespace gyre::train
