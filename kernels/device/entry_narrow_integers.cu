#include "kernels/device/entry.cuh"

namespace gyre::device {

template __global__ void interpret<DataType::int8>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::uint8>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::int32>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::uint32>(const GYRE_CONSTANT Launch launch);

}  // namespace gyre::device
