#include "kernels/device/entry.cuh"

namespace gyre::device {

template __global__ void interpret<DataType::float32>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::float64>(const GYRE_CONSTANT Launch launch);

}  // namespace gyre::device
