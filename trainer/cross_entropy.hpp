// Cross entropy of the next byte.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace gyre::train {

// logits: [targets.size(), classes]. Returns the sum over all targets of -log p(target), and
// replaces the logits by `scale` times the gradient of that sum.
double cross_entropy(std::size_t classes, std::span<const std::uint8_t> targets, float scale,
                     float* logits);

}  // namespace gyre::train
