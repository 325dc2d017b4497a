#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_interpreter<DataType::int64>();
template const void* typed_exchange<DataType::int64>();
template const void* typed_interpreter<DataType::uint64>();
template const void* typed_exchange<DataType::uint64>();

}  // namespace gyre::device
