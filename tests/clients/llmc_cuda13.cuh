// Included before llm.c's source: since CUDA 13 the runtime wants a place where it took a number.
#pragma once

#include <cuda_runtime.h>

#if CUDART_VERSION >= 13000
inline cudaError_t cudaMemAdvise(const void* memory, size_t bytes, cudaMemoryAdvise advice,
                                 int device) {
  cudaMemLocation place = {};
  place.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
  place.id = device == cudaCpuDeviceId ? 0 : device;
  return cudaMemAdvise(memory, bytes, advice, place);
}
#endif
