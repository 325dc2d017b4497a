#include "trainer/matmul.hpp"

#include <cblas.h>

#include <algorithm>

namespace gyre::train {
namespace {

blasint blas_int(std::size_t value) { return static_cast<blasint>(value); }

CBLAS_TRANSPOSE order_of(const Matrix& matrix) {
  return matrix.transposed ? CblasTrans : CblasNoTrans;
}

}  // namespace

void set_blas_threads(int threads) { openblas_set_num_threads(threads); }

void multiply(const Product& shape, Matrix a, Matrix b, float* c, std::size_t c_stride) {
  cblas_sgemm(CblasRowMajor, order_of(a), order_of(b), blas_int(shape.m), blas_int(shape.n),
              blas_int(shape.k), shape.scale, a.data, blas_int(a.stride), b.data,
              blas_int(b.stride), shape.keep, c, blas_int(c_stride));
}

void dense_forward(const Dense& shape, const float* x, const float* weight, const float* bias,
                   float* y) {
  if (bias != nullptr) {
    for (std::size_t row = 0; row < shape.rows; ++row) {
      std::copy_n(bias, shape.outputs, y + row * shape.outputs);
    }
  }
  multiply({.m = shape.rows,
            .n = shape.outputs,
            .k = shape.inputs,
            .keep = bias != nullptr ? 1.0F : 0.0F},
           {x, shape.inputs}, {weight, shape.outputs}, y, shape.outputs);
}

void dense_backward(const Dense& shape, const float* x, const float* weight, const float* dy,
                    float* dx, float* dweight, float* dbias) {
  multiply({.m = shape.rows, .n = shape.inputs, .k = shape.outputs}, {dy, shape.outputs},
           {weight, shape.outputs, true}, dx, shape.inputs);
  multiply({.m = shape.inputs, .n = shape.outputs, .k = shape.rows, .keep = 1.0F},
           {x, shape.inputs, true}, {dy, shape.outputs}, dweight, shape.outputs);
  if (dbias == nullptr) return;
  for (std::size_t row = 0; row < shape.rows; ++row) {
    const float* from = dy + row * shape.outputs;
    for (std::size_t i = 0; i < shape.outputs; ++i) dbias[i] += from[i];
  }
}

}  // namespace gyre::train
