#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_interpreter<DataType::float8e4m3>();
template const void* typed_exchange<DataType::float8e4m3>();
template const void* typed_interpreter<DataType::float8e5m2>();
template const void* typed_exchange<DataType::float8e5m2>();

}  // namespace gyre::device
