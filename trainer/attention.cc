#include "trainer/attention.hpp"

#include <algorithm>
#include <cmath>

#include "trainer/fast_exp.hpp"
#include "trainer/matmul.hpp"

namespace gyre::train {
namespace {

// Where one head of one sequence lies.
struct Head {
  std::size_t qkv, y, probabilities;  // offsets
};

Head head_of(const AttentionShape& shape, std::size_t sequence, std::size_t head) {
  const std::size_t column = head * shape.head_size();
  return {.qkv = sequence * shape.context * 3 * shape.width + column,
          .y = sequence * shape.context * shape.width + column,
          .probabilities = (sequence * shape.heads + head) * shape.context * shape.context};
}

float score_scale(const AttentionShape& shape) {
  return 1.0F / std::sqrt(static_cast<float>(shape.head_size()));
}

// Each row of scores becomes probabilities over the positions up to its own; the rest zero.
void causal_softmax(std::size_t context, float* scores) {
  for (std::size_t row = 0; row < context; ++row) {
    float* s = scores + row * context;
    const std::size_t seen = row + 1;
    const float highest = *std::max_element(s, s + seen);
    float sum = 0;
    for (std::size_t i = 0; i < seen; ++i) s[i] = fast_exp(s[i] - highest);
    for (std::size_t i = 0; i < seen; ++i) sum += s[i];
    const float inverse = 1.0F / sum;
    for (std::size_t i = 0; i < seen; ++i) s[i] *= inverse;
    std::fill(s + seen, s + context, 0.0F);
  }
}

// ds = p * (dp - sum(dp * p)) row by row, in place of dp.
void softmax_backward(std::size_t context, const float* probabilities, float* dp) {
  for (std::size_t row = 0; row < context; ++row) {
    const float* p = probabilities + row * context;
    float* d = dp + row * context;
    float dot = 0;
    for (std::size_t i = 0; i <= row; ++i) dot += p[i] * d[i];
    for (std::size_t i = 0; i <= row; ++i) d[i] = p[i] * (d[i] - dot);
    std::fill(d + row + 1, d + context, 0.0F);
  }
}

}  // namespace

void attention_forward(const AttentionShape& shape, const float* qkv, float* probabilities,
                       float* y) {
  const std::size_t t = shape.context;
  const std::size_t stride = 3 * shape.width;
  for (std::size_t sequence = 0; sequence < shape.batch; ++sequence) {
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const Head at = head_of(shape, sequence, head);
      const float* query = qkv + at.qkv;
      const float* key = query + shape.width;
      const float* value = key + shape.width;
      float* p = probabilities + at.probabilities;
      multiply({.m = t, .n = t, .k = shape.head_size(), .scale = score_scale(shape)},
               {query, stride}, {key, stride, true}, p, t);
      causal_softmax(t, p);
      multiply({.m = t, .n = shape.head_size(), .k = t}, {p, t}, {value, stride}, y + at.y,
               shape.width);
    }
  }
}

void attention_backward(const AttentionShape& shape, const float* qkv, const float* probabilities,
                        const float* dy, float* dqkv, float* scratch) {
  const std::size_t t = shape.context;
  const std::size_t size = shape.head_size();
  const std::size_t stride = 3 * shape.width;
  const float scale = score_scale(shape);
  for (std::size_t sequence = 0; sequence < shape.batch; ++sequence) {
    for (std::size_t head = 0; head < shape.heads; ++head) {
      const Head at = head_of(shape, sequence, head);
      const float* query = qkv + at.qkv;
      const float* key = query + shape.width;
      const float* value = key + shape.width;
      float* d_query = dqkv + at.qkv;
      float* d_key = d_query + shape.width;
      float* d_value = d_key + shape.width;
      const float* p = probabilities + at.probabilities;
      const Matrix d_out{dy + at.y, shape.width};
      multiply({.m = t, .n = size, .k = t}, {p, t, true}, d_out, d_value, stride);
      multiply({.m = t, .n = t, .k = size}, d_out, {value, stride, true}, scratch, t);
      softmax_backward(t, p, scratch);
      multiply({.m = t, .n = size, .k = t, .scale = scale}, {scratch, t}, {key, stride}, d_query,
               stride);
      multiply({.m = t, .n = size, .k = t, .scale = scale}, {scratch, t, true}, {query, stride},
               d_key, stride);
    }
  }
}

}  // namespace gyre::train
