#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_kernel<DataType::int64>();
template const void* typed_kernel<DataType::uint64>();

}  // namespace gyre::device
