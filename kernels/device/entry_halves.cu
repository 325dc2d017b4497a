#include "kernels/device/entry.cuh"

namespace gyre::device {

template __global__ void interpret<DataType::float16>(const GYRE_CONSTANT Launch launch);
template __global__ void interpret<DataType::bfloat16>(const GYRE_CONSTANT Launch launch);

}  // namespace gyre::device
