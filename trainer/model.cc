#include "trainer/model.hpp"

#include <algorithm>

#include "trainer/cross_entropy.hpp"
#include "trainer/gelu.hpp"
#include "trainer/layernorm.hpp"
#include "trainer/matmul.hpp"

namespace gyre::train {
namespace {

void add(std::span<const float> from, float* to) {
  for (std::size_t i = 0; i < from.size(); ++i) to[i] += from[i];
}

}  // namespace

Model::Model(const ModelShape& shape, std::size_t sequences) : shape_(shape), layout_(shape) {
  const std::size_t rows = sequences * shape.context;
  const std::size_t narrow = rows * shape.width;
  blocks_.resize(shape.layers);
  for (Block& block : blocks_) {
    for (auto* buffer :
         {&block.input, &block.norm1, &block.attended, &block.middle, &block.norm2}) {
      buffer->resize(narrow);
    }
    for (auto* buffer : {&block.mean1, &block.scale1, &block.mean2, &block.scale2}) {
      buffer->resize(rows);
    }
    block.qkv.resize(3 * narrow);
    block.probabilities.resize(attention_shape(sequences).probabilities());
    block.up.resize(4 * narrow);
    block.gate.resize(4 * narrow);
    block.active.resize(4 * narrow);
  }
  for (auto* buffer : {&output_, &norm_, &stream_gradient_, &narrow_gradient_}) {
    buffer->resize(narrow);
  }
  mean_.resize(rows);
  scale_.resize(rows);
  logits_.resize(rows * kBytes);
  wide_gradient_.resize(4 * narrow);
  score_gradient_.resize(shape.context * shape.context);
}

AttentionShape Model::attention_shape(std::size_t sequences) const {
  return {sequences, shape_.context, shape_.heads, shape_.width};
}

void Model::embed(const float* parameters, std::size_t sequences,
                  std::span<const std::uint8_t> inputs) {
  const std::size_t width = shape_.width;
  float* out = blocks_.front().input.data();
  for (std::size_t row = 0; row < sequences * shape_.context; ++row) {
    const float* byte = parameters + layout_.byte_embedding + inputs[row] * width;
    const float* position = parameters + layout_.position_embedding + row % shape_.context * width;
    for (std::size_t i = 0; i < width; ++i) out[row * width + i] = byte[i] + position[i];
  }
}

void Model::block_forward(const float* parameters, const BlockLayout& at, Block& block,
                          std::size_t sequences, float* output) {
  const float* p = parameters;
  const std::size_t rows = sequences * shape_.context;
  const std::size_t width = shape_.width;
  const std::size_t count = rows * width;
  layernorm_forward(rows, width, block.input.data(), p + at.norm1_gain, p + at.norm1_shift,
                    block.norm1.data(), block.mean1.data(), block.scale1.data());
  dense_forward({rows, width, 3 * width}, block.norm1.data(), p + at.qkv_weight, p + at.qkv_bias,
                block.qkv.data());
  attention_forward(attention_shape(sequences), block.qkv.data(), block.probabilities.data(),
                    block.attended.data());
  dense_forward({rows, width, width}, block.attended.data(), p + at.out_weight, p + at.out_bias,
                block.middle.data());
  add({block.input.data(), count}, block.middle.data());
  layernorm_forward(rows, width, block.middle.data(), p + at.norm2_gain, p + at.norm2_shift,
                    block.norm2.data(), block.mean2.data(), block.scale2.data());
  dense_forward({rows, width, 4 * width}, block.norm2.data(), p + at.up_weight, p + at.up_bias,
                block.up.data());
  gelu_forward(4 * count, block.up.data(), block.gate.data(), block.active.data());
  dense_forward({rows, 4 * width, width}, block.active.data(), p + at.down_weight, p + at.down_bias,
                output);
  add({block.middle.data(), count}, output);
}

std::span<float> Model::forward(std::span<const float> parameters, std::size_t sequences,
                                std::span<const std::uint8_t> inputs) {
  const float* p = parameters.data();
  const std::size_t rows = sequences * shape_.context;
  embed(p, sequences, inputs);
  for (std::size_t layer = 0; layer < blocks_.size(); ++layer) {
    const bool last = layer + 1 == blocks_.size();
    float* output = last ? output_.data() : blocks_[layer + 1].input.data();
    block_forward(p, layout_.blocks[layer], blocks_[layer], sequences, output);
  }
  layernorm_forward(rows, shape_.width, output_.data(), p + layout_.norm_gain,
                    p + layout_.norm_shift, norm_.data(), mean_.data(), scale_.data());
  dense_forward({rows, shape_.width, kBytes}, norm_.data(), p + layout_.head_weight, nullptr,
                logits_.data());
  return {logits_.data(), rows * kBytes};
}

void Model::block_backward(const float* parameters, const BlockLayout& at, const Block& block,
                           std::size_t sequences, float* gradients) {
  const float* p = parameters;
  float* g = gradients;
  const std::size_t rows = sequences * shape_.context;
  const std::size_t width = shape_.width;
  float* stream = stream_gradient_.data();
  float* narrow = narrow_gradient_.data();
  float* wide = wide_gradient_.data();
  // The residual stream carries `stream` past both branches; each branch adds its share.
  dense_backward({rows, 4 * width, width}, block.active.data(), p + at.down_weight, stream, wide,
                 g + at.down_weight, g + at.down_bias);
  gelu_backward(rows * 4 * width, block.up.data(), block.gate.data(), wide);
  dense_backward({rows, width, 4 * width}, block.norm2.data(), p + at.up_weight, wide, narrow,
                 g + at.up_weight, g + at.up_bias);
  layernorm_backward(rows, width, block.middle.data(), p + at.norm2_gain, block.mean2.data(),
                     block.scale2.data(), narrow, stream, g + at.norm2_gain, g + at.norm2_shift);
  dense_backward({rows, width, width}, block.attended.data(), p + at.out_weight, stream, narrow,
                 g + at.out_weight, g + at.out_bias);
  attention_backward(attention_shape(sequences), block.qkv.data(), block.probabilities.data(),
                     narrow, wide, score_gradient_.data());
  dense_backward({rows, width, 3 * width}, block.norm1.data(), p + at.qkv_weight, wide, narrow,
                 g + at.qkv_weight, g + at.qkv_bias);
  layernorm_backward(rows, width, block.input.data(), p + at.norm1_gain, block.mean1.data(),
                     block.scale1.data(), narrow, stream, g + at.norm1_gain, g + at.norm1_shift);
}

void Model::embed_backward(const MicroBatch& batch, float* gradients) {
  const std::size_t width = shape_.width;
  for (std::size_t row = 0; row < batch.inputs.size(); ++row) {
    const float* from = stream_gradient_.data() + row * width;
    add({from, width}, gradients + layout_.byte_embedding + batch.inputs[row] * width);
    add({from, width}, gradients + layout_.position_embedding + row % shape_.context * width);
  }
}

double Model::backward(std::span<const float> parameters, const MicroBatch& batch, float scale,
                       std::span<float> gradients,
                       const std::function<void(std::size_t)>& final_from) {
  const float* p = parameters.data();
  float* g = gradients.data();
  const std::size_t rows = batch.sequences * shape_.context;
  const std::span<float> logits = forward(parameters, batch.sequences, batch.inputs);
  const double loss = cross_entropy(kBytes, batch.targets, scale, logits.data());
  dense_backward({rows, shape_.width, kBytes}, norm_.data(), p + layout_.head_weight, logits.data(),
                 narrow_gradient_.data(), g + layout_.head_weight, nullptr);
  std::fill_n(stream_gradient_.begin(), rows * shape_.width, 0.0F);
  layernorm_backward(rows, shape_.width, output_.data(), p + layout_.norm_gain, mean_.data(),
                     scale_.data(), narrow_gradient_.data(), stream_gradient_.data(),
                     g + layout_.norm_gain, g + layout_.norm_shift);
  final_from(layout_.norm_gain);
  for (std::size_t layer = blocks_.size(); layer-- > 0;) {
    const BlockLayout& at = layout_.blocks[layer];
    block_backward(p, at, blocks_[layer], batch.sequences, g);
    final_from(at.norm1_gain);
  }
  embed_backward(batch, g);
  final_from(0);
  return loss;
}

}  // namespace gyre::train
