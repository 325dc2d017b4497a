// Causal multi-head self-attention, between the projections.
#pragma once

#include <cstddef>

namespace gyre::train {

struct AttentionShape {
  std::size_t batch, context, heads, width;  // width = heads * size of a head

  std::size_t head_size() const { return width / heads; }
  std::size_t probabilities() const { return batch * heads * context * context; }
};

// qkv: [batch, context, 3 * width] (queries, keys, values side by side; heads side by side in
// each); probabilities: [batch, heads, context, context], kept for the backward pass;
// y: [batch, context, width].
void attention_forward(const AttentionShape& shape, const float* qkv, float* probabilities,
                       float* y);

// dqkv is overwritten; scratch: [context, context].
void attention_backward(const AttentionShape& shape, const float* qkv, const float* probabilities,
                        const float* dy, float* dqkv, float* scratch);

}  // namespace gyre::train
