// CUDA's runtime under the names that kernels/backend uses.
#pragma once

#include <cuda_runtime_api.h>

#include "gyre/plugin.h"

namespace gyre::gpu {

inline constexpr gyreDeviceKind kKind = gyreDeviceCuda;
inline constexpr const char* kName = "cuda";   // of the back-end, and before the name of a call
inline constexpr const char* kTitle = "CUDA";  // in texts

using Code = cudaError_t;
using Stream = cudaStream_t;
using Event = cudaEvent_t;
using IpcName = cudaIpcMemHandle_t;
using PointerAttributes = cudaPointerAttributes;
using FunctionAttributes = cudaFuncAttributes;
using Properties = cudaDeviceProp;
using CaptureMode = cudaStreamCaptureMode;
using CaptureStatus = cudaStreamCaptureStatus;

inline constexpr Code kOk = cudaSuccess;
inline constexpr Code kNoMemory = cudaErrorMemoryAllocation;
inline constexpr Code kNotInitialized = cudaErrorInitializationError;
inline constexpr Code kInvalidValue = cudaErrorInvalidValue;
inline constexpr Code kPeerIsAccessible = cudaErrorPeerAccessAlreadyEnabled;
inline constexpr Code kCaptureImplicit = cudaErrorStreamCaptureImplicit;
inline constexpr CaptureMode kRelaxed = cudaStreamCaptureModeRelaxed;
inline constexpr CaptureStatus kCaptureNone = cudaStreamCaptureStatusNone;
inline constexpr CaptureStatus kCaptureActive = cudaStreamCaptureStatusActive;
inline constexpr unsigned kStreamNonBlocking = cudaStreamNonBlocking;
inline constexpr unsigned kEventTimed = cudaEventDefault;
inline constexpr unsigned kEventUntimed = cudaEventDisableTiming;
inline constexpr unsigned kHostAlloc = cudaHostAllocPortable | cudaHostAllocMapped;
inline constexpr unsigned kHostRegister = cudaHostRegisterPortable | cudaHostRegisterMapped;
inline constexpr unsigned kIpcOpen = cudaIpcMemLazyEnablePeerAccess;
inline constexpr auto kCopyAnyWay = cudaMemcpyDefault;
inline constexpr auto kProcessorCount = cudaDevAttrMultiProcessorCount;
inline constexpr auto kSharedMemoryOfProcessor = cudaDevAttrMaxSharedMemoryPerMultiprocessor;
inline constexpr auto kSharedMemoryCarveout = cudaFuncAttributePreferredSharedMemoryCarveout;

inline constexpr auto& error_name = cudaGetErrorName;
inline constexpr auto& error_text = cudaGetErrorString;
inline constexpr auto& take_last_error = cudaGetLastError;
inline constexpr auto& device_count = cudaGetDeviceCount;
inline constexpr auto& device_get = cudaGetDevice;
inline constexpr auto& device_set = cudaSetDevice;
inline constexpr auto& device_wait = cudaDeviceSynchronize;
inline constexpr auto& device_attribute = cudaDeviceGetAttribute;
inline constexpr auto& peer_possible = cudaDeviceCanAccessPeer;
inline constexpr auto& peer_enable = cudaDeviceEnablePeerAccess;
using Pool = cudaMemPool_t;
using PoolAccess = cudaMemAccessDesc;
inline constexpr auto kOnDeviceMemory = cudaMemLocationTypeDevice;
inline constexpr auto kReadAndWrite = cudaMemAccessFlagsProtReadWrite;
inline constexpr auto& default_pool = cudaDeviceGetDefaultMemPool;
inline constexpr auto& pool_set_access = cudaMemPoolSetAccess;
inline constexpr auto& memory_take = cudaMalloc;
inline constexpr auto& memory_give = cudaFree;
inline constexpr auto& memory_state = cudaMemGetInfo;
inline constexpr auto& memory_take_async = cudaMallocAsync;
inline constexpr auto& memory_give_async = cudaFreeAsync;
inline constexpr auto& memory_copy_async = cudaMemcpyAsync;
inline constexpr auto& memory_set_async = cudaMemsetAsync;
inline constexpr auto& pointer_attributes = cudaPointerGetAttributes;
inline constexpr auto& host_take = cudaHostAlloc;
inline constexpr auto& host_give = cudaFreeHost;
inline constexpr auto& host_pin = cudaHostRegister;
inline constexpr auto& host_unpin = cudaHostUnregister;
inline constexpr auto& host_device_pointer = cudaHostGetDevicePointer;
inline constexpr auto& ipc_name = cudaIpcGetMemHandle;
inline constexpr auto& ipc_open = cudaIpcOpenMemHandle;
inline constexpr auto& ipc_shut = cudaIpcCloseMemHandle;
inline constexpr auto& stream_make = cudaStreamCreateWithFlags;
inline constexpr auto& stream_end = cudaStreamDestroy;
inline constexpr auto& stream_wait = cudaStreamSynchronize;
inline constexpr auto& stream_done = cudaStreamQuery;
inline constexpr auto& stream_await = cudaStreamWaitEvent;
inline constexpr auto& event_make = cudaEventCreateWithFlags;
inline constexpr auto& event_end = cudaEventDestroy;
inline constexpr auto& event_mark = cudaEventRecord;
inline constexpr auto& event_wait = cudaEventSynchronize;
inline constexpr auto& event_done = cudaEventQuery;
inline constexpr auto& event_milliseconds = cudaEventElapsedTime;
inline constexpr auto& capture_mode = cudaThreadExchangeStreamCaptureMode;
inline constexpr auto& function_attributes = cudaFuncGetAttributes;
inline constexpr auto& function_set = cudaFuncSetAttribute;
inline constexpr auto& function_occupancy = cudaOccupancyMaxActiveBlocksPerMultiprocessor;
inline constexpr auto& function_launch = cudaLaunchKernel;

// Overloaded, or with more arguments in newer versions.
inline Code device_properties(Properties* properties, int ordinal) {
  return cudaGetDeviceProperties(properties, ordinal);
}
// From 1 on: the runtime counts from 0.
inline Code stream_number(Stream stream, unsigned long long* number) {
  const Code code = cudaStreamGetId(stream, number);
  ++*number;
  return code;
}
inline Code stream_capture_of(Stream stream, CaptureStatus* status, unsigned long long* number) {
  return cudaStreamGetCaptureInfo(stream, status, number);
}

inline gyrePointerKind kind_of(const PointerAttributes& attributes, const void* pointer) {
  switch (attributes.type) {
    case cudaMemoryTypeDevice:
    case cudaMemoryTypeManaged:
      return gyrePointerDevice;
    case cudaMemoryTypeHost:
      return attributes.devicePointer == pointer ? gyrePointerHost : gyrePointerUnknown;
    default:
      return gyrePointerUnknown;
  }
}

}  // namespace gyre::gpu
