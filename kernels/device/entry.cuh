// The kernels: one per element type, and one that moves bytes.
#pragma once

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

// Instantiated, and its kernel with it, in the one file that has the type.
template <DataType type>
const void* typed_kernel() {
  return reinterpret_cast<const void*>(&interpret<type>);
}

}  // namespace gyre::device
