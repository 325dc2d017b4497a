// The kernels of one element type.
#pragma once

#include "kernels/device/exchange.cuh"
#include "kernels/device/interpreter.cuh"

namespace gyre::device {

// A function of its own, so that the interpreter's registers are not its.
template <DataType type>
__device__ __noinline__ void move_elements(const FoldTask& task) {
  if (task.folds) {
    fold_block<type>(task);
  } else {
    copy_block(task);
  }
}

template <DataType type>
__global__ void __launch_bounds__(kThreads, 2) interpret(const GYRE_CONSTANT Launch launch) {
  run_chain(launch, [](const FoldTask& task) { move_elements<type>(task); });
}

template <DataType type>
__global__ void __launch_bounds__(kThreads, 2) exchange(const GYRE_CONSTANT Launch launch) {
  run_exchange<type>(launch);
}

// Instantiated, and the kernels with them, in the one file that has the type.
template <DataType type>
const void* typed_interpreter() {
  return reinterpret_cast<const void*>(&interpret<type>);
}
template <DataType type>
const void* typed_exchange() {
  return reinterpret_cast<const void*>(&exchange<type>);
}

}  // namespace gyre::device
