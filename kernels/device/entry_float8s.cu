#include "kernels/device/entry.cuh"

namespace gyre::device {

template __global__ void interpret<DataType::float8e4m3>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::float8e5m2>(const GYRE_CONSTANT Launch launch);

}  // namespace gyre::device
