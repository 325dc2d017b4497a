// HIP's runtime under the names that kernels/backend uses.
#pragma once

#include <hip/hip_runtime_api.h>

#include "gyre/plugin.h"

namespace gyre::gpu {

inline constexpr gyreDeviceKind kKind = gyreDeviceHip;
inline constexpr const char* kName = "hip";   // of the back-end, and before the name of a call
inline constexpr const char* kTitle = "HIP";  // in texts

using Code = hipError_t;
using Stream = hipStream_t;
using Event = hipEvent_t;
using IpcName = hipIpcMemHandle_t;
using PointerAttributes = hipPointerAttribute_t;
using FunctionAttributes = hipFuncAttributes;
using Properties = hipDeviceProp_t;
using CaptureMode = hipStreamCaptureMode;
using CaptureStatus = hipStreamCaptureStatus;

inline constexpr Code kOk = hipSuccess;
inline constexpr Code kNoMemory = hipErrorOutOfMemory;
inline constexpr Code kNotInitialized = hipErrorNotInitialized;
inline constexpr Code kInvalidValue = hipErrorInvalidValue;
inline constexpr Code kPeerIsAccessible = hipErrorPeerAccessAlreadyEnabled;
inline constexpr Code kCaptureImplicit = hipErrorStreamCaptureImplicit;
inline constexpr CaptureMode kRelaxed = hipStreamCaptureModeRelaxed;
inline constexpr CaptureStatus kCaptureNone = hipStreamCaptureStatusNone;
inline constexpr CaptureStatus kCaptureActive = hipStreamCaptureStatusActive;
inline constexpr unsigned kStreamNonBlocking = hipStreamNonBlocking;
inline constexpr unsigned kEventTimed = hipEventDefault;
inline constexpr unsigned kEventUntimed = hipEventDisableTiming;
// Coherent: kernels and host talk through it while kernels run.
inline constexpr unsigned kHostAlloc =
    hipHostMallocPortable | hipHostMallocMapped | hipHostMallocCoherent;
inline constexpr unsigned kHostRegister = hipHostRegisterPortable | hipHostRegisterMapped;
inline constexpr unsigned kIpcOpen = hipIpcMemLazyEnablePeerAccess;
inline constexpr auto kCopyAnyWay = hipMemcpyDefault;
inline constexpr auto kProcessorCount = hipDeviceAttributeMultiprocessorCount;
inline constexpr auto kSharedMemoryOfProcessor = hipDeviceAttributeMaxSharedMemoryPerMultiprocessor;
inline constexpr auto kSharedMemoryCarveout = hipFuncAttributePreferredSharedMemoryCarveout;

inline constexpr auto& error_name = hipGetErrorName;
inline constexpr auto& error_text = hipGetErrorString;
inline constexpr auto& take_last_error = hipGetLastError;
inline constexpr auto& device_count = hipGetDeviceCount;
inline constexpr auto& device_get = hipGetDevice;
inline constexpr auto& device_set = hipSetDevice;
inline constexpr auto& device_wait = hipDeviceSynchronize;
inline constexpr auto& device_attribute = hipDeviceGetAttribute;
inline constexpr auto& peer_possible = hipDeviceCanAccessPeer;
inline constexpr auto& peer_enable = hipDeviceEnablePeerAccess;
using Pool = hipMemPool_t;
using PoolAccess = hipMemAccessDesc;
inline constexpr auto kOnDeviceMemory = hipMemLocationTypeDevice;
inline constexpr auto kReadAndWrite = hipMemAccessFlagsProtReadWrite;
inline constexpr auto& default_pool = hipDeviceGetDefaultMemPool;
inline constexpr auto& pool_set_access = hipMemPoolSetAccess;
inline constexpr auto& memory_give = hipFree;
inline constexpr auto& memory_state = hipMemGetInfo;
inline constexpr auto& memory_give_async = hipFreeAsync;
inline constexpr auto& memory_copy_async = hipMemcpyAsync;
inline constexpr auto& memory_set_async = hipMemsetAsync;
inline constexpr auto& pointer_attributes = hipPointerGetAttributes;
inline constexpr auto& host_give = hipHostFree;
inline constexpr auto& host_pin = hipHostRegister;
inline constexpr auto& host_unpin = hipHostUnregister;
inline constexpr auto& host_device_pointer = hipHostGetDevicePointer;
inline constexpr auto& ipc_name = hipIpcGetMemHandle;
inline constexpr auto& ipc_open = hipIpcOpenMemHandle;
inline constexpr auto& ipc_shut = hipIpcCloseMemHandle;
inline constexpr auto& stream_make = hipStreamCreateWithFlags;
inline constexpr auto& stream_end = hipStreamDestroy;
inline constexpr auto& stream_wait = hipStreamSynchronize;
inline constexpr auto& stream_done = hipStreamQuery;
inline constexpr auto& stream_await = hipStreamWaitEvent;
inline constexpr auto& event_make = hipEventCreateWithFlags;
inline constexpr auto& event_end = hipEventDestroy;
inline constexpr auto& event_mark = hipEventRecord;
inline constexpr auto& event_wait = hipEventSynchronize;
inline constexpr auto& event_done = hipEventQuery;
inline constexpr auto& event_milliseconds = hipEventElapsedTime;
inline constexpr auto& capture_mode = hipThreadExchangeStreamCaptureMode;
inline constexpr auto& function_attributes = hipFuncGetAttributes;
inline constexpr auto& function_set = hipFuncSetAttribute;
inline constexpr auto& function_launch = hipLaunchKernel;

// Overloaded, or macros in some versions.
inline Code memory_take(void** pointer, std::size_t bytes) { return hipMalloc(pointer, bytes); }
inline Code memory_take_async(void** pointer, std::size_t bytes, Stream stream) {
  return hipMallocAsync(pointer, bytes, stream);
}
inline Code host_take(void** pointer, std::size_t bytes, unsigned flags) {
  return hipHostMalloc(pointer, bytes, flags);
}
inline Code function_occupancy(int* blocks, const void* function, int threads, std::size_t shared) {
  return hipOccupancyMaxActiveBlocksPerMultiprocessor(blocks, function, threads, shared);
}
inline Code device_properties(Properties* properties, int ordinal) {
  return hipGetDeviceProperties(properties, ordinal);
}
// HIP has no such number.
inline Code stream_number(Stream, unsigned long long* number) {
  *number = 0;
  return kOk;
}
inline Code stream_capture_of(Stream stream, CaptureStatus* status, unsigned long long* number) {
  return hipStreamGetCaptureInfo(stream, status, number);
}

// HIP 6 gave the field CUDA's name.
template <typename Attributes>
hipMemoryType type_of(const Attributes& attributes) {
  if constexpr (requires { attributes.type; }) {
    return attributes.type;
  } else {
    return attributes.memoryType;
  }
}

inline gyrePointerKind kind_of(const PointerAttributes& attributes, const void* pointer) {
  const hipMemoryType type = type_of(attributes);
  if (attributes.isManaged != 0 || type == hipMemoryTypeDevice) return gyrePointerDevice;
  const bool reached = type == hipMemoryTypeHost && attributes.devicePointer == pointer;
  return reached ? gyrePointerHost : gyrePointerUnknown;
}

}  // namespace gyre::gpu
