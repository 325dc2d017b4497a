// Text that the model writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "trainer/model.hpp"

namespace gyre::train {

struct SampleOptions {
  std::size_t bytes = 400;
  float temperature = 0.7F;
  std::uint64_t seed = 1;
};

// Continues `prompt` (not empty) by options.bytes bytes; returns the continuation.
std::string sample(Model& model, std::span<const float> parameters, const std::string& prompt,
                   const SampleOptions& options);

// For a terminal: control characters, and bytes that are no UTF-8, become question marks.
std::string printable(const std::string& text);

}  // namespace gyre::train
