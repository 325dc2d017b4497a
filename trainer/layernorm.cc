#include "trainer/layernorm.hpp"

#include <cmath>

namespace gyre::train {

void layernorm_forward(std::size_t rows, std::size_t width, const float* x, const float* gain,
                       const float* shift, float* y, float* mean, float* scale) {
  constexpr float kEpsilon = 1e-5F;
  const auto inverse_width = 1.0F / static_cast<float>(width);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* in = x + row * width;
    float* out = y + row * width;
    float sum = 0;
    for (std::size_t i = 0; i < width; ++i) sum += in[i];
    const float center = sum * inverse_width;
    float squares = 0;
    for (std::size_t i = 0; i < width; ++i) squares += (in[i] - center) * (in[i] - center);
    const float factor = 1.0F / std::sqrt(squares * inverse_width + kEpsilon);
    for (std::size_t i = 0; i < width; ++i) {
      out[i] = (in[i] - center) * factor * gain[i] + shift[i];
    }
    mean[row] = center;
    scale[row] = factor;
  }
}

void layernorm_backward(std::size_t rows, std::size_t width, const float* x, const float* gain,
                        const float* mean, const float* scale, const float* dy, float* dx,
                        float* dgain, float* dshift) {
  const auto inverse_width = 1.0F / static_cast<float>(width);
  for (std::size_t row = 0; row < rows; ++row) {
    const float* in = x + row * width;
    const float* d_out = dy + row * width;
    float* d_in = dx + row * width;
    const float center = mean[row];
    const float factor = scale[row];
    // With n the normalised input and g = dy * gain: dx = factor * (g - mean(g) - n * mean(g * n)).
    float sum = 0;
    float dot = 0;
    for (std::size_t i = 0; i < width; ++i) {
      const float g = d_out[i] * gain[i];
      sum += g;
      dot += g * (in[i] - center) * factor;
    }
    sum *= inverse_width;
    dot *= inverse_width;
    for (std::size_t i = 0; i < width; ++i) {
      const float normal = (in[i] - center) * factor;
      d_in[i] += factor * (d_out[i] * gain[i] - sum - normal * dot);
      dgain[i] += d_out[i] * normal;
      dshift[i] += d_out[i];
    }
  }
}

}  // namespace gyre::train
