// The table of all kernels, and the one that no element type is compiled into.
#include "kernels/device/entry.hpp"
#include "kernels/device/interpreter.cuh"

namespace gyre::device {

// entry.cuh; each is compiled in one of the files entry_*.cu.
template <DataType type>
const void* typed_kernel();

__global__ void __launch_bounds__(kThreads, 2) move_bytes(const GYRE_CONSTANT Launch launch) {
  run_chain(launch, [](const FoldTask& task) { copy_block(task); });
}

const void* kernel_function(std::uint32_t kernel) {
  if (kernel == kCopyKernel) return reinterpret_cast<const void*>(&move_bytes);
  switch (static_cast<DataType>(kernel)) {
    case DataType::int8:
      return typed_kernel<DataType::int8>();
    case DataType::uint8:
      return typed_kernel<DataType::uint8>();
    case DataType::int32:
      return typed_kernel<DataType::int32>();
    case DataType::uint32:
      return typed_kernel<DataType::uint32>();
    case DataType::int64:
      return typed_kernel<DataType::int64>();
    case DataType::uint64:
      return typed_kernel<DataType::uint64>();
    case DataType::float16:
      return typed_kernel<DataType::float16>();
    case DataType::float32:
      return typed_kernel<DataType::float32>();
    case DataType::float64:
      return typed_kernel<DataType::float64>();
    case DataType::bfloat16:
      return typed_kernel<DataType::bfloat16>();
    case DataType::float8e4m3:
      return typed_kernel<DataType::float8e4m3>();
    case DataType::float8e5m2:
      return typed_kernel<DataType::float8e5m2>();
  }
  return nullptr;
}

}  // namespace gyre::device
