#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_kernel<DataType::float8e4m3>();
template const void* typed_kernel<DataType::float8e5m2>();

}  // namespace gyre::device
