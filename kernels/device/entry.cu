// The table of all kernels, and the one that no element type is compiled into.
#include "kernels/device/entry.hpp"

#include "kernels/device/entry.cuh"

namespace gyre::device {

__global__ void __launch_bounds__(kThreads, 2) move_bytes(const GYRE_CONSTANT Launch launch) {
  run_chain(launch, [](const FoldTask& task) { copy_block(task); });
}

// Compiled in the files entry_*.cu.
extern template __global__ void interpret<DataType::int8>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::uint8>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::int32>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::uint32>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::int64>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::uint64>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::float16>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::float32>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::float64>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::bfloat16>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::float8e4m3>(const GYRE_CONSTANT Launch launch);
extern template __global__ void interpret<DataType::float8e5m2>(const GYRE_CONSTANT Launch launch);

namespace {

template <DataType type>
const void* typed() {
  return reinterpret_cast<const void*>(&interpret<type>);
}

}  // namespace

const void* kernel_function(std::uint32_t kernel) {
  if (kernel == kCopyKernel) return reinterpret_cast<const void*>(&move_bytes);
  switch (static_cast<DataType>(kernel)) {
    case DataType::int8:
      return typed<DataType::int8>();
    case DataType::uint8:
      return typed<DataType::uint8>();
    case DataType::int32:
      return typed<DataType::int32>();
    case DataType::uint32:
      return typed<DataType::uint32>();
    case DataType::int64:
      return typed<DataType::int64>();
    case DataType::uint64:
      return typed<DataType::uint64>();
    case DataType::float16:
      return typed<DataType::float16>();
    case DataType::float32:
      return typed<DataType::float32>();
    case DataType::float64:
      return typed<DataType::float64>();
    case DataType::bfloat16:
      return typed<DataType::bfloat16>();
    case DataType::float8e4m3:
      return typed<DataType::float8e4m3>();
    case DataType::float8e5m2:
      return typed<DataType::float8e5m2>();
  }
  return nullptr;
}

}  // namespace gyre::device
