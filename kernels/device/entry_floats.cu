#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_interpreter<DataType::float32>();
template const void* typed_exchange<DataType::float32>();
template const void* typed_interpreter<DataType::float64>();
template const void* typed_exchange<DataType::float64>();

}  // namespace gyre::device
