// The model's gradient against finite differences, and what its callers rely on.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "trainer/adamw.hpp"
#include "trainer/data.hpp"
#include "trainer/model.hpp"
#include "trainer/options.hpp"
#include "trainer/sample.hpp"

namespace gyre::train {
namespace {

constexpr ModelShape kTiny{.layers = 2, .heads = 2, .width = 8, .context = 6};
constexpr std::size_t kSequences = 3;
constexpr std::uint64_t kSeed = 77;

struct Fixture {
  Model model{kTiny, kSequences};
  std::vector<float> parameters = std::vector<float>(model.layout().size);
  std::vector<std::uint8_t> inputs, targets;

  Fixture() {
    initialize(kTiny, model.layout(), kSeed, parameters);
    // Larger than at the start of training, so that no part of the gradient is near zero.
    std::mt19937 engine(kSeed);
    std::normal_distribution<float> normal(0.0F, 0.3F);
    for (float& value : parameters) value += normal(engine);
    std::uniform_int_distribution<int> byte(0, 255);
    for (std::size_t i = 0; i < kSequences * kTiny.context; ++i) {
      inputs.push_back(static_cast<std::uint8_t>(byte(engine)));
      targets.push_back(static_cast<std::uint8_t>(byte(engine)));
    }
  }
  MicroBatch batch() const { return {kSequences, inputs, targets}; }
  double loss(const std::vector<float>& at) {
    std::vector<float> ignored(at.size());
    return model.backward(at, batch(), 1.0F, ignored, [](std::size_t) {});
  }
};

// Along a random direction within each tensor: (loss(p + e d) - loss(p - e d)) / 2e == gradient . d
TEST(Model, GradientMatchesFiniteDifferencesInEveryTensor) {
  Fixture f;
  std::vector<float> gradient(f.parameters.size());
  f.model.backward(f.parameters, f.batch(), 1.0F, gradient, [](std::size_t) {});
  std::mt19937 engine(kSeed + 1);
  std::normal_distribution<float> normal;
  for (const Tensor& tensor : f.model.layout().tensors) {
    constexpr float kStep = 2e-3F;
    std::vector<float> up = f.parameters, down = f.parameters;
    double expected = 0, size = 0;
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      // Mostly along the gradient, which keeps the difference far above rounding.
      const float direction = gradient[i] + 0.1F * normal(engine);
      size += static_cast<double>(direction) * direction;
      expected += static_cast<double>(gradient[i]) * direction;
      up[i] = direction;
    }
    const auto unit = static_cast<float>(1.0 / std::sqrt(size));
    for (std::size_t i = tensor.offset; i < tensor.offset + tensor.size; ++i) {
      const float move = up[i] * unit * kStep;
      up[i] = f.parameters[i] + move;
      down[i] = f.parameters[i] - move;
    }
    expected *= static_cast<double>(unit);
    const double measured = (f.loss(up) - f.loss(down)) / (2.0 * static_cast<double>(kStep));
    EXPECT_NEAR(measured, expected, 0.01 * std::abs(expected) + 0.02) << tensor.name;
  }
}

TEST(Model, AnnouncesFinalGradientsFromTheEnd) {
  Fixture f;
  std::vector<float> whole(f.parameters.size()), partial(f.parameters.size());
  f.model.backward(f.parameters, f.batch(), 1.0F, whole, [](std::size_t) {});
  std::vector<std::size_t> offsets;
  std::size_t final_from = f.parameters.size();
  f.model.backward(f.parameters, f.batch(), 1.0F, partial, [&](std::size_t offset) {
    ASSERT_LT(offset, final_from);
    EXPECT_TRUE(std::equal(partial.begin() + static_cast<std::ptrdiff_t>(offset), partial.end(),
                           whole.begin() + static_cast<std::ptrdiff_t>(offset)));
    final_from = offset;
    offsets.push_back(offset);
  });
  EXPECT_EQ(offsets.size(), kTiny.layers + 2);
  EXPECT_EQ(offsets.back(), 0U);
}

TEST(Model, TensorsCoverTheArrayWithoutGaps) {
  const ParameterLayout layout(kTiny);
  std::size_t end = 0;
  for (const Tensor& tensor : layout.tensors) {
    EXPECT_EQ(tensor.offset, end) << tensor.name;
    end += tensor.size;
  }
  EXPECT_EQ(end, layout.size);
}

TEST(Model, ImpossibleShapesAreNamed) {
  EXPECT_THROW(check({.layers = 1, .heads = 3, .width = 8, .context = 8}), std::invalid_argument);
  EXPECT_THROW(check({.layers = 0, .heads = 1, .width = 8, .context = 8}), std::invalid_argument);
  EXPECT_NO_THROW(check(kTiny));
}

TEST(AdamW, LearnsAFixedBatch) {
  Fixture f;
  AdamW optimizer(f.model.layout(), {});
  const double before = f.loss(f.parameters);
  std::vector<float> gradient(f.parameters.size());
  for (int step = 0; step < 60; ++step) {
    std::fill(gradient.begin(), gradient.end(), 0.0F);
    f.model.backward(f.parameters, f.batch(), 1.0F / 18.0F, gradient, [](std::size_t) {});
    EXPECT_GT(optimizer.step(0.02F, gradient, f.parameters), 0.0);
  }
  EXPECT_LT(f.loss(f.parameters), 0.2 * before);
}

TEST(LearningRate, WarmsUpAndEndsAtATenth) {
  const LearningRate rate{.peak = 1.0F, .warmup_steps = 10, .schedule = Schedule::cosine};
  EXPECT_NEAR(rate.at(0, 0.0), 0.1F, 1e-6F);
  EXPECT_NEAR(rate.at(9, 0.0), 1.0F, 1e-6F);
  EXPECT_NEAR(rate.at(100, 1.0), 0.1F, 1e-6F);
  EXPECT_NEAR(rate.at(100, 0.5), 0.55F, 1e-6F);
  EXPECT_NEAR((LearningRate{1.0F, 0, Schedule::constant}).at(5, 0.9), 1.0F, 1e-6F);
}

TEST(Text, BatchesDependOnSeedStepAndIndexAlone) {
  std::vector<std::uint8_t> bytes(4000);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i * 7 % 251);
  const Text text(bytes, 16);
  std::vector<std::uint8_t> a(16), b(16), targets(16);
  text.training_sequence(1, 5, 3, a.data(), targets.data());
  EXPECT_TRUE(std::equal(a.begin() + 1, a.end(), targets.begin()));
  text.training_sequence(1, 5, 3, b.data(), targets.data());
  EXPECT_EQ(a, b);
  text.training_sequence(1, 5, 4, b.data(), targets.data());
  EXPECT_NE(a, b);
  EXPECT_THROW(Text(std::vector<std::uint8_t>(100), 16), std::runtime_error);
}

TEST(Text, MissingFilesAreNamed) {
  try {
    Text::read("/nonexistent/text", 16);
    FAIL() << "read a file that does not exist";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nonexistent/text"), std::string::npos);
  }
}

TEST(Sample, IsTheSameForTheSameSeed) {
  Fixture f;
  const SampleOptions options{.bytes = 12, .temperature = 0.9F, .seed = 3};
  const std::string first = sample(f.model, f.parameters, "The ", options);
  EXPECT_EQ(first.size(), 12U);
  EXPECT_EQ(first, sample(f.model, f.parameters, "The ", options));
}

TEST(Sample, PrintsOnlyWhatATerminalTakes) {
  EXPECT_EQ(printable("a\tb\n"), "a\tb\n");
  EXPECT_EQ(printable("caf\xc3\xa9"), "caf\xc3\xa9");
  EXPECT_EQ(printable("\x1b[2J\x7f"), "?[2J?");
  EXPECT_EQ(printable("\xc3"), "?");
  EXPECT_EQ(printable("\xff\xc1x\xe2\x82y"), "??x??y");
}

TEST(Share, RefusesWhatCannotBeDivided) {
  Options options;
  options.batch = 12;
  EXPECT_EQ(share_of(options, 2, 4).micro_batch, 3U);
  EXPECT_EQ(share_of(options, 2, 4).first, 6U);
  EXPECT_THROW(share_of(options, 0, 5), std::invalid_argument);
  options.reproducible = true;
  EXPECT_THROW(share_of(options, 0, 4), std::invalid_argument);  // three passes each
  options.batch = 16;
  EXPECT_EQ(share_of(options, 3, 4).micro_batches, 4U);
}

}  // namespace
}  // namespace gyre::train
