#include "trainer/cross_entropy.hpp"

#include <algorithm>
#include <cmath>

#include "trainer/fast_exp.hpp"

namespace gyre::train {

double cross_entropy(std::size_t classes, std::span<const std::uint8_t> targets, float scale,
                     float* logits) {
  double loss = 0;
  for (std::size_t row = 0; row < targets.size(); ++row) {
    float* z = logits + row * classes;
    const float highest = *std::max_element(z, z + classes);
    const float wanted = z[targets[row]] - highest;
    float sum = 0;
    for (std::size_t i = 0; i < classes; ++i) z[i] = fast_exp(z[i] - highest);
    for (std::size_t i = 0; i < classes; ++i) sum += z[i];
    loss += std::log(static_cast<double>(sum)) - static_cast<double>(wanted);
    const float factor = scale / sum;
    for (std::size_t i = 0; i < classes; ++i) z[i] *= factor;
    z[targets[row]] -= scale;
  }
  return loss;
}

}  // namespace gyre::train
