#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_kernel<DataType::float16>();
template const void* typed_kernel<DataType::bfloat16>();

}  // namespace gyre::device
