#include "kernels/device/entry.cuh"

namespace gyre::device {

template const void* typed_interpreter<DataType::int8>();
template const void* typed_exchange<DataType::int8>();
template const void* typed_interpreter<DataType::uint8>();
template const void* typed_exchange<DataType::uint8>();
template const void* typed_interpreter<DataType::int32>();
template const void* typed_exchange<DataType::int32>();
template const void* typed_interpreter<DataType::uint32>();
template const void* typed_exchange<DataType::uint32>();

}  // namespace gyre::device
