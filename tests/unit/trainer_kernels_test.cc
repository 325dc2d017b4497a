// The trainer's layers against plain loops in double precision.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

#include "trainer/attention.hpp"
#include "trainer/cross_entropy.hpp"
#include "trainer/fast_exp.hpp"
#include "trainer/gelu.hpp"
#include "trainer/layernorm.hpp"
#include "trainer/matmul.hpp"

namespace gyre::train {
namespace {

constexpr unsigned kSeed = 20261129;

std::vector<float> noise(std::size_t count, unsigned salt, float deviation = 1.0F) {
  std::mt19937 engine(kSeed + salt);
  std::normal_distribution<float> normal(0.0F, deviation);
  std::vector<float> values(count);
  for (float& value : values) value = normal(engine);
  return values;
}

// The slope of loss(x) = sum(dy * f(x)) in each element of x by central differences, against dx.
template <typename Forward>
void expect_slopes(std::vector<float> x, const std::vector<float>& dy, const std::vector<float>& dx,
                   const Forward& forward) {
  constexpr float kStep = 4e-3F;
  const auto loss = [&] {
    const std::vector<float> y = forward(x);
    double sum = 0;
    for (std::size_t i = 0; i < y.size(); ++i) sum += static_cast<double>(y[i]) * dy[i];
    return sum;
  };
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float before = x[i];
    x[i] = before + kStep;
    const double above = loss();
    x[i] = before - kStep;
    const double below = loss();
    x[i] = before;
    EXPECT_NEAR(dx[i], (above - below) / (2.0 * static_cast<double>(kStep)), 2e-3)
        << "element " << i;
  }
}

TEST(FastExp, StaysWithinItsErrorBound) {
  RecordProperty("seed", static_cast<int>(kSeed));
  for (float x = -86.9F; x < 87.9F; x += 0.00371F) {
    const double exact = std::exp(static_cast<double>(x));
    ASSERT_NEAR(static_cast<double>(fast_exp(x)) / exact, 1.0, 3e-7) << x;
  }
  EXPECT_GT(fast_exp(-1e30F), 0.0F);
  EXPECT_TRUE(std::isfinite(fast_exp(1e30F)));
}

TEST(Matmul, DenseForwardAndBackwardMatchLoops) {
  const Dense shape{5, 7, 3};
  const auto x = noise(35, 1), weight = noise(21, 2), bias = noise(3, 3), dy = noise(15, 4);
  std::vector<float> y(15), dx(35), dweight(21, 0.5F), dbias(3, 0.25F);
  dense_forward(shape, x.data(), weight.data(), bias.data(), y.data());
  dense_backward(shape, x.data(), weight.data(), dy.data(), dx.data(), dweight.data(),
                 dbias.data());
  for (std::size_t r = 0; r < 5; ++r) {
    for (std::size_t o = 0; o < 3; ++o) {
      double sum = static_cast<double>(bias[o]);
      for (std::size_t i = 0; i < 7; ++i)
        sum += static_cast<double>(x[r * 7 + i]) * weight[i * 3 + o];
      EXPECT_NEAR(y[r * 3 + o], sum, 1e-5);
    }
    for (std::size_t i = 0; i < 7; ++i) {
      double sum = 0;
      for (std::size_t o = 0; o < 3; ++o)
        sum += static_cast<double>(dy[r * 3 + o]) * weight[i * 3 + o];
      EXPECT_NEAR(dx[r * 7 + i], sum, 1e-5);
    }
  }
  for (std::size_t o = 0; o < 3; ++o) {
    double bias_sum = 0.25;
    for (std::size_t r = 0; r < 5; ++r) bias_sum += static_cast<double>(dy[r * 3 + o]);
    EXPECT_NEAR(dbias[o], bias_sum, 1e-5);
    for (std::size_t i = 0; i < 7; ++i) {
      double sum = 0.5;  // added to, not overwritten
      for (std::size_t r = 0; r < 5; ++r) sum += static_cast<double>(x[r * 7 + i]) * dy[r * 3 + o];
      EXPECT_NEAR(dweight[i * 3 + o], sum, 1e-5);
    }
  }
}

TEST(LayerNorm, ForwardMatchesTheDefinition) {
  constexpr std::size_t kRows = 3, kWidth = 10;
  const auto x = noise(30, 5, 3.0F), gain = noise(10, 6), shift = noise(10, 7);
  std::vector<float> y(30), mean(3), scale(3);
  layernorm_forward(kRows, kWidth, x.data(), gain.data(), shift.data(), y.data(), mean.data(),
                    scale.data());
  for (std::size_t r = 0; r < kRows; ++r) {
    double m = 0, v = 0;
    for (std::size_t i = 0; i < kWidth; ++i) m += static_cast<double>(x[r * kWidth + i]) / kWidth;
    for (std::size_t i = 0; i < kWidth; ++i) {
      v += std::pow(static_cast<double>(x[r * kWidth + i]) - m, 2) / kWidth;
    }
    for (std::size_t i = 0; i < kWidth; ++i) {
      const double normal = (static_cast<double>(x[r * kWidth + i]) - m) / std::sqrt(v + 1e-5);
      EXPECT_NEAR(y[r * kWidth + i], normal * gain[i] + shift[i], 1e-4);
    }
  }
}

TEST(Gelu, ForwardAndSlopeMatchTheDefinition) {
  const auto exact = [](double x) {
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
  };
  std::vector<float> x;
  for (float value = -8; value <= 8; value += 0.03125F) x.push_back(value);
  std::vector<float> gate(x.size()), y(x.size()), dx(x.size(), 1.0F);
  gelu_forward(x.size(), x.data(), gate.data(), y.data());
  gelu_backward(x.size(), x.data(), gate.data(), dx.data());
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto at = static_cast<double>(x[i]);
    EXPECT_NEAR(y[i], exact(at), 2e-6) << at;
    EXPECT_NEAR(dx[i], (exact(at + 1e-5) - exact(at - 1e-5)) / 2e-5, 1e-5) << at;
  }
}

TEST(Attention, ForwardMatchesLoopsAndSeesNoFuture) {
  const AttentionShape shape{2, 5, 2, 6};
  auto qkv = noise(2 * 5 * 18, 8);
  std::vector<float> p(shape.probabilities()), y(2 * 5 * 6);
  attention_forward(shape, qkv.data(), p.data(), y.data());
  for (std::size_t b = 0; b < 2; ++b) {
    for (std::size_t h = 0; h < 2; ++h) {
      for (std::size_t t = 0; t < 5; ++t) {
        const auto at = [&](std::size_t position, std::size_t part, std::size_t i) {
          return static_cast<double>(qkv[(b * 5 + position) * 18 + part * 6 + h * 3 + i]);
        };
        std::vector<double> weight(t + 1);
        double total = 0;
        for (std::size_t s = 0; s <= t; ++s) {
          double dot = 0;
          for (std::size_t i = 0; i < 3; ++i) dot += at(t, 0, i) * at(s, 1, i);
          total += weight[s] = std::exp(dot / std::sqrt(3.0));
        }
        for (std::size_t i = 0; i < 3; ++i) {
          double sum = 0;
          for (std::size_t s = 0; s <= t; ++s) sum += weight[s] / total * at(s, 2, i);
          EXPECT_NEAR(y[(b * 5 + t) * 6 + h * 3 + i], sum, 1e-5);
        }
      }
    }
  }
  const auto before = y;
  for (std::size_t i = 0; i < 18; ++i) qkv[4 * 18 + i] += 5.0F;  // sequence 0, last position
  attention_forward(shape, qkv.data(), p.data(), y.data());
  for (std::size_t i = 0; i < 4 * 6; ++i) EXPECT_EQ(y[i], before[i]);
}

TEST(Attention, BackwardMatchesDifferencesInEveryElement) {
  const AttentionShape shape{2, 4, 2, 6};
  const auto qkv = noise(2 * 4 * 18, 10), dy = noise(2 * 4 * 6, 11);
  std::vector<float> p(shape.probabilities()), scratch(16), dqkv(qkv.size());
  const auto forward = [&](const std::vector<float>& x) {
    std::vector<float> y(2 * 4 * 6);
    attention_forward(shape, x.data(), p.data(), y.data());
    return y;
  };
  forward(qkv);
  attention_backward(shape, qkv.data(), p.data(), dy.data(), dqkv.data(), scratch.data());
  expect_slopes(qkv, dy, dqkv, forward);
}

TEST(LayerNorm, BackwardMatchesDifferencesInEveryElement) {
  constexpr std::size_t kRows = 3, kWidth = 7;
  const auto x = noise(21, 12, 2.0F), gain = noise(7, 13), shift = noise(7, 14), dy = noise(21, 15);
  std::vector<float> mean(3), scale(3), dx(21), dgain(7), dshift(7);
  const auto forward = [&](const float* at, const float* by, const float* plus) {
    std::vector<float> y(21);
    layernorm_forward(kRows, kWidth, at, by, plus, y.data(), mean.data(), scale.data());
    return y;
  };
  forward(x.data(), gain.data(), shift.data());
  layernorm_backward(kRows, kWidth, x.data(), gain.data(), mean.data(), scale.data(), dy.data(),
                     dx.data(), dgain.data(), dshift.data());
  expect_slopes(x, dy, dx,
                [&](const auto& at) { return forward(at.data(), gain.data(), shift.data()); });
  expect_slopes(gain, dy, dgain,
                [&](const auto& by) { return forward(x.data(), by.data(), shift.data()); });
  expect_slopes(shift, dy, dshift,
                [&](const auto& plus) { return forward(x.data(), gain.data(), plus.data()); });
}

TEST(CrossEntropy, LossAndGradientMatchTheDefinition) {
  constexpr std::size_t kClasses = 11;
  const auto logits = noise(2 * kClasses, 9, 2.0F);
  const std::vector<std::uint8_t> targets = {3, 10};
  std::vector<float> gradient = logits;
  const double loss = cross_entropy(kClasses, targets, 0.5F, gradient.data());
  double expected = 0;
  for (std::size_t r = 0; r < 2; ++r) {
    double total = 0;
    for (std::size_t i = 0; i < kClasses; ++i) {
      total += std::exp(static_cast<double>(logits[r * kClasses + i]));
    }
    expected += std::log(total) - static_cast<double>(logits[r * kClasses + targets[r]]);
    for (std::size_t i = 0; i < kClasses; ++i) {
      const double p = std::exp(static_cast<double>(logits[r * kClasses + i])) / total;
      EXPECT_NEAR(gradient[r * kClasses + i], 0.5 * (p - (i == targets[r] ? 1 : 0)), 1e-6);
    }
  }
  EXPECT_NEAR(loss, expected, 1e-5);
}

}  // namespace
}  // namespace gyre::train
