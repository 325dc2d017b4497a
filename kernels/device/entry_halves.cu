#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_interpreter<DataType::float16>();
template const void* typed_exchange<DataType::float16>();
template const void* typed_interpreter<DataType::bfloat16>();
template const void* typed_exchange<DataType::bfloat16>();

}  // namespace gyre::device
