#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_kernel<DataType::int8>();
template const void* typed_kernel<DataType::uint8>();
template const void* typed_kernel<DataType::int32>();
template const void* typed_kernel<DataType::uint32>();

}  // namespace gyre::device
