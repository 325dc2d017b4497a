#include "trainer/sample.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "trainer/random.hpp"

namespace gyre::train {
namespace {

// Draws from softmax(logits / temperature) with a number of [0, 1).
std::uint8_t draw(std::span<const float> logits, float temperature, double at) {
  const float highest = *std::max_element(logits.begin(), logits.end());
  const auto weight = [&](float logit) {
    return std::exp(static_cast<double>((logit - highest) / temperature));
  };
  double total = 0;
  for (const float logit : logits) total += weight(logit);
  double left = at * total;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    left -= weight(logits[i]);
    if (left < 0) return static_cast<std::uint8_t>(i);
  }
  return static_cast<std::uint8_t>(std::max_element(logits.begin(), logits.end()) - logits.begin());
}

}  // namespace

std::string sample(Model& model, std::span<const float> parameters, const std::string& prompt,
                   const SampleOptions& options) {
  const std::size_t context = model.shape().context;
  std::string text = prompt;
  std::vector<std::uint8_t> window(context);
  for (std::size_t i = 0; i < options.bytes; ++i) {
    const std::size_t seen = std::min(text.size(), context);
    // Positions behind the text are padding; causal attention never looks at them.
    std::fill(window.begin(), window.end(), std::uint8_t{0});
    std::copy(text.end() - static_cast<std::ptrdiff_t>(seen), text.end(), window.begin());
    const std::span<const float> logits = model.forward(parameters, 1, window);
    const double at = unit_interval(mix(mix(options.seed) ^ i));
    text.push_back(static_cast<char>(
        draw(logits.subspan((seen - 1) * kBytes, kBytes), options.temperature, at)));
  }
  return text.substr(prompt.size());
}

}  // namespace gyre::train
