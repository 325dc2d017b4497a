#include "trainer/gelu.hpp"

#include "trainer/fast_exp.hpp"

namespace gyre::train {
namespace {

// 0.5 (1 + tanh(u)) is the logistic function of 2u, with u = sqrt(2/pi) (x + 0.044715 x^3).
constexpr float kTwoRoot = 1.59576912160573F;  // 2 sqrt(2/pi)
constexpr float kCubic = 0.044715F;

}  // namespace

void gelu_forward(std::size_t count, const float* x, float* gate, float* y) {
  for (std::size_t i = 0; i < count; ++i) {
    const float g = 1.0F / (1.0F + fast_exp(-kTwoRoot * (x[i] + kCubic * x[i] * x[i] * x[i])));
    gate[i] = g;
    y[i] = x[i] * g;
  }
}

void gelu_backward(std::size_t count, const float* x, const float* gate, float* dy) {
  for (std::size_t i = 0; i < count; ++i) {
    const float g = gate[i];
    const float slope = kTwoRoot * (1.0F + 3.0F * kCubic * x[i] * x[i]);
    dy[i] *= g + x[i] * g * (1.0F - g) * slope;
  }
}

}  // namespace gyre::train
