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

// The length of the UTF-8 sequence at `at` by its lead byte and continuation bytes; 0 if it is
// none.
std::size_t sequence_length(const std::string& text, std::size_t at) {
  const auto lead = static_cast<unsigned char>(text[at]);
  if (lead < 0x80) return 1;
  std::size_t length = 0;  // 0xc0, 0xc1 and 0xf5 on never lead: overlong, or beyond Unicode
  if (lead >= 0xc2) length = 2;
  if (lead >= 0xe0) length = 3;
  if (lead >= 0xf0) length = 4;
  if (lead >= 0xf5) return 0;
  if (at + length > text.size()) return 0;
  for (std::size_t i = at + 1; i < at + length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xc0) != 0x80) return 0;
  }
  return length;
}

}  // namespace

std::string printable(const std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = sequence_length(text, at);
    const char c = text[at];
    const bool control = length == 1 && (c < ' ' || c == 0x7f) && c != '\n' && c != '\t';
    if (length == 0 || control) {
      out += '?';
    } else {
      out += text.substr(at, length);
    }
    at += std::max<std::size_t>(1, length);
  }
  return out;
}

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
