// Layer normalisation over the last dimension.
#pragma once

#include <cstddef>

namespace gyre::train {

// x, y: [rows, width]; gain, shift: [width]; mean and scale (1 / standard deviation): [rows], kept
// for the backward pass.
void layernorm_forward(std::size_t rows, std::size_t width, const float* x, const float* gain,
                       const float* shift, float* y, float* mean, float* scale);

// Adds to dx, dgain and dshift.
void layernorm_backward(std::size_t rows, std::size_t width, const float* x, const float* gain,
                        const float* mean, const float* scale, const float* dy, float* dx,
                        float* dgain, float* dshift);

}  // namespace gyre::train
