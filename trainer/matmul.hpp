// Matrix products, row-major, fp32, by OpenBLAS.
#pragma once

#include <cstddef>

namespace gyre::train {

// BLAS threads of this process. One per rank is right when ranks fill the cores.
void set_blas_threads(int threads);

// One operand: rows of `stride` floats; `transposed` means that its transpose is meant.
struct Matrix {
  const float* data;
  std::size_t stride;
  bool transposed = false;
};

// c[m, n] = scale * a[m, k] * b[k, n] + keep * c, with c's rows `c_stride` apart.
struct Product {
  std::size_t m, n, k;
  float scale = 1.0F;
  float keep = 0.0F;
};
void multiply(const Product& shape, Matrix a, Matrix b, float* c, std::size_t c_stride);

// A dense layer over `rows` inputs: y[rows, outputs] = x[rows, inputs] * weight[inputs, outputs]
// + bias[outputs] (null: no bias).
struct Dense {
  std::size_t rows, inputs, outputs;
};
void dense_forward(const Dense& shape, const float* x, const float* weight, const float* bias,
                   float* y);
// dx is overwritten; dweight and dbias (null: none) are added to.
void dense_backward(const Dense& shape, const float* x, const float* weight, const float* dy,
                    float* dx, float* dweight, float* dbias);

}  // namespace gyre::train
