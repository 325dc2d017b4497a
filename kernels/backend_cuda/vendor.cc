// The current device through the driver, and what CUDA's errors mean.
//
// cudaSetDevice would be the plain way to go to a device and back. But going back to a device that
// the process never used makes a context there, some hundred MiB on device 0 for every rank that
// works on another one. The driver's stack of contexts leaves no trace.
#include "kernels/backend/vendor.cuh"

#include <cuda.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>

namespace gyre::gpu {
namespace {

// libcuda.so comes with the driver and is missing on machines without: it is never linked.
struct Driver {
  Code code = kOk;
  decltype(&::cuInit) init = nullptr;
  decltype(&::cuCtxGetCurrent) get_current = nullptr;
  decltype(&::cuCtxGetDevice) get_device = nullptr;
  decltype(&::cuCtxPushCurrent) push = nullptr;
  decltype(&::cuCtxPopCurrent) pop = nullptr;
  decltype(&::cuDevicePrimaryCtxRetain) retain = nullptr;
  decltype(&::cuDeviceGetUuid) get_uuid = nullptr;
  decltype(&::cuMemGetAddressRange) get_range = nullptr;
  decltype(&::cuPointerGetAttribute) get_attribute = nullptr;
};

// The two number errors alike.
Code code_of(CUresult result) { return static_cast<Code>(result); }

template <typename Function>
void find(Driver& driver, const char* name, Function& function) {
  if (driver.code != kOk) return;
  void* entry = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  constexpr unsigned kVersion = 12000;  // of the driver's interface: the oldest that will do
  driver.code = cudaGetDriverEntryPointByVersion(name, &entry, kVersion, cudaEnableDefault, &found);
#else
  driver.code = cudaGetDriverEntryPoint(name, &entry, cudaEnableDefault, &found);
#endif
  if (driver.code == kOk && entry == nullptr) driver.code = cudaErrorInsufficientDriver;
  function = reinterpret_cast<Function>(entry);
}

Driver load_driver() {
  Driver driver;
  find(driver, "cuInit", driver.init);
  find(driver, "cuCtxGetCurrent", driver.get_current);
  find(driver, "cuCtxGetDevice", driver.get_device);
  find(driver, "cuCtxPushCurrent", driver.push);
  find(driver, "cuCtxPopCurrent", driver.pop);
  find(driver, "cuDevicePrimaryCtxRetain", driver.retain);
  find(driver, "cuDeviceGetUuid", driver.get_uuid);
  find(driver, "cuMemGetAddressRange", driver.get_range);
  find(driver, "cuPointerGetAttribute", driver.get_attribute);
  if (driver.code == kOk) driver.code = code_of(driver.init(0));
  return driver;
}

const Driver& driver() {
  static const Driver loaded = load_driver();
  return loaded;
}

// The context that the runtime uses on a device. Kept for ever: the runtime keeps it too.
CUcontext primary_context(int ordinal, Code& code) {
  static std::array<std::atomic<CUcontext>, kMostDevices> contexts;
  static std::mutex mutex;
  if (ordinal < 0 || ordinal >= kMostDevices) {
    code = cudaErrorInvalidDevice;
    return nullptr;
  }
  auto& slot = contexts[static_cast<std::size_t>(ordinal)];
  CUcontext context = slot.load(std::memory_order_acquire);
  if (context != nullptr) return context;
  const std::lock_guard lock(mutex);
  context = slot.load(std::memory_order_relaxed);
  if (context != nullptr) return context;
  code = code_of(driver().retain(&context, ordinal));
  if (code != kOk) return nullptr;
  slot.store(context, std::memory_order_release);
  return context;
}

}  // namespace

// Kernels of ranks on one device wait for each other. Streams that share one of the device's queues
// do not run side by side, and by default there are eight; 32 is the most there can be. Under MPS,
// where a process has two by default, all share what there are: with 32 the fourth would find none.
void prepare_process() {
  const char* folder = std::getenv("CUDA_MPS_PIPE_DIRECTORY");
  const std::string control =
      std::string(folder != nullptr ? folder : "/tmp/nvidia-mps") + "/control";
  const bool is_shared = ::access(control.c_str(), F_OK) == 0;
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", is_shared ? "8" : "32", /*overwrite=*/0);
}

OnDevice::OnDevice(int ordinal) {
  const Driver& calls = driver();
  code_ = calls.code;
  if (code_ != kOk) return;
  CUcontext wanted = primary_context(ordinal, code_);
  if (code_ != kOk) return;
  CUcontext current = nullptr;
  code_ = code_of(calls.get_current(&current));
  if (code_ != kOk || current == wanted) return;
  // A context of the user's own on this device will do: its streams belong to it.
  CUdevice device = -1;
  if (current != nullptr && calls.get_device(&device) == CUDA_SUCCESS && device == ordinal) return;
  code_ = code_of(calls.push(wanted));
  changed_ = code_ == kOk;
}

OnDevice::~OnDevice() {
  CUcontext popped = nullptr;
  if (changed_) driver().pop(&popped);
}

Code identity_of(int ordinal, unsigned char* identity) {
  if (driver().code != kOk) return driver().code;
  CUuuid uuid{};
  // The driver's, since it tells the instances of a divided device apart.
  const Code code = code_of(driver().get_uuid(&uuid, ordinal));
  static_assert(sizeof uuid.bytes == kIdentityBytes);
  if (code == kOk) std::memcpy(identity, uuid.bytes, sizeof uuid.bytes);
  return code;
}

Allocation allocation_of(const void* pointer) {
  Allocation found;
  if (driver().code != kOk) return found;
  const auto address = reinterpret_cast<CUdeviceptr>(pointer);
  CUdeviceptr base = 0;
  std::size_t bytes = 0;
  if (driver().get_range(&base, &bytes, address) == CUDA_SUCCESS) {
    found.base = reinterpret_cast<void*>(base);
    found.bytes = bytes;
  }
  unsigned long long number = 0;
  if (driver().get_attribute(&number, CU_POINTER_ATTRIBUTE_BUFFER_ID, address) == CUDA_SUCCESS) {
    found.number = number;
  }
  return found;
}

gyreResult result_of(Code code) {
  switch (code) {
    case cudaSuccess:
      return gyreSuccess;
    case cudaErrorNotReady:
      return gyreErrorNotReady;
    case cudaErrorMemoryAllocation:
      return gyreErrorOutOfMemory;
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
    case cudaErrorInsufficientDriver:
    case cudaErrorStubLibrary:
    case cudaErrorDevicesUnavailable:
    case cudaErrorDeviceNotLicensed:
    case cudaErrorSystemNotReady:
    case cudaErrorSystemDriverMismatch:
    case cudaErrorCompatNotSupportedOnDevice:
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return gyreErrorNoDevice;
    case cudaErrorInvalidValue:
    case cudaErrorInvalidResourceHandle:
    case cudaErrorInvalidDevicePointer:
    case cudaErrorInvalidConfiguration:
    case cudaErrorInvalidDeviceFunction:
    case cudaErrorHostMemoryAlreadyRegistered:
    case cudaErrorHostMemoryNotRegistered:
      return gyreErrorInvalidArgument;
    case cudaErrorNotSupported:
    case cudaErrorPeerAccessUnsupported:
      return gyreErrorUnsupported;
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable:
    case cudaErrorStreamCaptureInvalidated:
      return gyreErrorWork;
    default:
      return gyreErrorSystem;
  }
}

const char* remedy_of(Code code) {
  switch (code) {
    case cudaErrorInsufficientDriver:
      return "the driver is missing or too old: install one for this version of CUDA or a later";
    case cudaErrorNoDevice:
      return "see nvidia-smi -L and CUDA_VISIBLE_DEVICES";
    case cudaErrorInvalidDevice:
      return "ordinals begin at 0; CUDA_VISIBLE_DEVICES may hide devices";
    case cudaErrorMemoryAllocation:
      return "nvidia-smi shows who holds the device's memory";
    case cudaErrorDevicesUnavailable:
      return "another process has the device for itself: nvidia-smi -q -d COMPUTE";
    case cudaErrorSystemNotReady:
      return "start nvidia-fabricmanager, or wait for it";
    case cudaErrorSystemDriverMismatch:
      return "the kernel module and libcuda.so are of different versions: restart the machine";
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorUnsupportedPtxVersion:
      return "build with -DCMAKE_CUDA_ARCHITECTURES for this device";
    case cudaErrorIllegalAddress:
    case cudaErrorMisalignedAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorAssert:
      return "a kernel of this process failed earlier, and the process cannot use the device any "
             "more; compute-sanitizer finds the place";
    case cudaErrorStreamCaptureUnsupported:
    case cudaErrorStreamCaptureImplicit:
    case cudaErrorStreamCaptureInvalidated:
      return "the call is not allowed while the stream is captured";
    default:
      return "";
  }
}

}  // namespace gyre::gpu
