#include "kernels/device/entry.cuh"

namespace gyre::device {

template __global__ void interpret<DataType::int64>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::uint64>(const GYRE_CONSTANT Launch launch);

}  // namespace gyre::device
