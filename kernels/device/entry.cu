// The table of all kernels, and those that no element type is compiled into.
#include "kernels/device/entry.hpp"
#include "kernels/device/errand.cuh"
#include "kernels/device/exchange.cuh"
#include "kernels/device/interpreter.cuh"

namespace gyre::device {

// entry.cuh; each is compiled in one of the files entry_*.cu.
template <DataType type>
const void* typed_interpreter();
template <DataType type>
const void* typed_exchange();

__global__ void __launch_bounds__(kThreads, 2) move_bytes(const GYRE_CONSTANT Launch launch) {
  run_chain(launch, [](const FoldTask& task) { copy_block(task); });
}

__global__ void __launch_bounds__(kThreads, 2) exchange_bytes(const GYRE_CONSTANT Launch launch) {
  exchange_blocks(launch);
}

__global__ void __launch_bounds__(kThreads, 2) wait_for_errand(const GYRE_CONSTANT Launch launch) {
  if (threadIdx.x == 0) run_errand(launch);
}

namespace {

template <DataType type>
const void* typed(bool exchanges) {
  return exchanges ? typed_exchange<type>() : typed_interpreter<type>();
}

}  // namespace

const void* kernel_function(std::uint32_t kernel) {
  if (kernel == kCopyKernel) return reinterpret_cast<const void*>(&move_bytes);
  if (kernel == kExchangeKernels + kCopyKernel) {
    return reinterpret_cast<const void*>(&exchange_bytes);
  }
  if (kernel == kErrandKernel) return reinterpret_cast<const void*>(&wait_for_errand);
  const bool exchanges = kernel >= kExchangeKernels;
  switch (static_cast<DataType>(exchanges ? kernel - kExchangeKernels : kernel)) {
    case DataType::int8:
      return typed<DataType::int8>(exchanges);
    case DataType::uint8:
      return typed<DataType::uint8>(exchanges);
    case DataType::int32:
      return typed<DataType::int32>(exchanges);
    case DataType::uint32:
      return typed<DataType::uint32>(exchanges);
    case DataType::int64:
      return typed<DataType::int64>(exchanges);
    case DataType::uint64:
      return typed<DataType::uint64>(exchanges);
    case DataType::float16:
      return typed<DataType::float16>(exchanges);
    case DataType::float32:
      return typed<DataType::float32>(exchanges);
    case DataType::float64:
      return typed<DataType::float64>(exchanges);
    case DataType::bfloat16:
      return typed<DataType::bfloat16>(exchanges);
    case DataType::float8e4m3:
      return typed<DataType::float8e4m3>(exchanges);
    case DataType::float8e5m2:
      return typed<DataType::float8e5m2>(exchanges);
  }
  return nullptr;
}

}  // namespace gyre::device
