// The current device, and what HIP's errors mean.
#include "kernels/backend/vendor.cuh"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <string>

namespace gyre::gpu {

// Kernels of ranks on one device wait for each other, and those of streams that share one of the
// device's queues do not run side by side.
void prepare_process() { ::setenv("GPU_MAX_HW_QUEUES", "24", /*overwrite=*/0); }

OnDevice::OnDevice(int ordinal) {
  code_ = device_get(&before_);
  if (code_ != kOk || before_ == ordinal) return;
  code_ = device_set(ordinal);
  changed_ = code_ == kOk;
}

OnDevice::~OnDevice() {
  if (changed_) (void)device_set(before_);
}

Code identity_of(int ordinal, unsigned char* identity) {
  hipUUID uuid{};
  static_assert(sizeof uuid.bytes == kIdentityBytes);
  (void)hipDeviceGetUuid(&uuid, ordinal);
  std::memcpy(identity, uuid.bytes, sizeof uuid.bytes);
  const bool known = std::any_of(identity, identity + kIdentityBytes,
                                 [](unsigned char byte) { return byte != 0 && byte != '0'; });
  if (known) return kOk;
  // Consumer devices have none: the slot on this run of this machine.
  std::array<char, kIdentityBytes> slot{};
  const Code code = hipDeviceGetPCIBusId(slot.data(), static_cast<int>(slot.size()), ordinal);
  if (code != kOk) return code;
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  const std::size_t halves[] = {std::hash<std::string>{}(boot),
                                std::hash<std::string>{}(boot + slot.data())};
  static_assert(sizeof halves == kIdentityBytes);
  std::memcpy(identity, halves, sizeof halves);
  return kOk;
}

Allocation allocation_of(const void* pointer) {
  Allocation found;
  void* address = const_cast<void*>(pointer);
  void* base = nullptr;
  std::size_t bytes = 0;
  if (hipMemGetAddressRange(&base, &bytes, address) == kOk) {
    found.base = base;
    found.bytes = bytes;
  }
  unsigned long long number = 0;
  if (hipPointerGetAttribute(&number, HIP_POINTER_ATTRIBUTE_BUFFER_ID, address) == kOk) {
    found.number = number;
  }
  (void)take_last_error();
  return found;
}

gyreResult result_of(Code code) {
  switch (code) {
    case hipSuccess:
      return gyreSuccess;
    case hipErrorNotReady:
      return gyreErrorNotReady;
    case hipErrorOutOfMemory:
      return gyreErrorOutOfMemory;
    case hipErrorNoDevice:
    case hipErrorInvalidDevice:
    case hipErrorInsufficientDriver:
    case hipErrorNoBinaryForGpu:
      return gyreErrorNoDevice;
    case hipErrorInvalidValue:
    case hipErrorInvalidHandle:
    case hipErrorInvalidDevicePointer:
    case hipErrorInvalidConfiguration:
    case hipErrorInvalidDeviceFunction:
    case hipErrorHostMemoryAlreadyRegistered:
    case hipErrorHostMemoryNotRegistered:
      return gyreErrorInvalidArgument;
    case hipErrorNotSupported:
    case hipErrorPeerAccessUnsupported:
      return gyreErrorUnsupported;
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorLaunchTimeOut:
    case hipErrorAssert:
    case hipErrorECCNotCorrectable:
    case hipErrorStreamCaptureInvalidated:
      return gyreErrorWork;
    default:
      return gyreErrorSystem;
  }
}

const char* remedy_of(Code code) {
  switch (code) {
    case hipErrorInsufficientDriver:
      return "the driver is missing or too old";
    case hipErrorNoDevice:
      return "see rocminfo, HIP_VISIBLE_DEVICES, and the rights to /dev/kfd and /dev/dri";
    case hipErrorInvalidDevice:
      return "ordinals begin at 0; HIP_VISIBLE_DEVICES may hide devices";
    case hipErrorOutOfMemory:
      return "rocm-smi shows who holds the device's memory";
    case hipErrorNoBinaryForGpu:
      return "build with -DGYRE_HIP_ARCHITECTURES for this device";
    case hipErrorIllegalAddress:
    case hipErrorLaunchFailure:
    case hipErrorAssert:
      return "a kernel of this process failed earlier, and the process cannot use the device any "
             "more";
    case hipErrorStreamCaptureUnsupported:
    case hipErrorStreamCaptureImplicit:
    case hipErrorStreamCaptureInvalidated:
      return "the call is not allowed while the stream is captured";
    default:
      return "";
  }
}

}  // namespace gyre::gpu
