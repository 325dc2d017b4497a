#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_kernel<DataType::float32>();
template const void* typed_kernel<DataType::float64>();

}  // namespace gyre::device
