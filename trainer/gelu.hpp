// The GELU activation in its tanh form, as GPT-2 has it.
#pragma once

#include <cstddef>

namespace gyre::train {

// y = x * gate; the gates [count] are kept, since the backward pass would pay an exponential and a
// division for each.
void gelu_forward(std::size_t count, const float* x, float* gate, float* y);
// dy becomes dx in place.
void gelu_backward(std::size_t count, const float* x, const float* gate, float* dy);

}  // namespace gyre::train
