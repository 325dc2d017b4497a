// What the library says of itself, its memory, and registered buffers.
#include <fmt/format.h>

#include "abi/handle.hpp"
#include "abi/report.hpp"
#include "backend/loader.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "transport/device/memory.hpp"
#include "transport/shm/region.hpp"

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

namespace {

// Of the calling thread's device, as a program that counts on CUDA memory expects.
Result<void> device_alloc(const gyreBackend& backend, void** address, std::size_t size) {
  int ordinal = 0;
  if (backend.device_current(&ordinal) == gyreSuccess &&
      backend.memory_alloc(ordinal, size, address) == gyreSuccess) {
    return {};
  }
  return device_error(backend, ordinal, fmt::format("allocating {} bytes", size));
}

Result<void> device_free(const gyreBackend& backend, void* address) {
  if (address == nullptr) return {};
  gyrePointerInfo info{};
  info.size = sizeof info;
  int ordinal = 0;
  if (backend.device_current(&ordinal) == gyreSuccess &&
      backend.pointer_info(ordinal, address, &info) == gyreSuccess &&
      info.kind == gyrePointerDevice && backend.memory_free(info.ordinal, address) == gyreSuccess) {
    return {};
  }
  return Error{Status::invalid_argument, fmt::format("{} was not given by ncclMemAlloc: {}",
                                                     fmt::ptr(address), backend.last_error())};
}

}  // namespace

GYRE_EXPORTS(ncclGetVersion);
ncclResult_t gyre_ncclGetVersion(int* version) {
  return guarded("ncclGetVersion", [&]() -> Result<void> {
    if (version == nullptr) return Error{Status::invalid_argument, "version is NULL"};
    *version = settings() ? static_cast<int>(settings()->nccl_version) : NCCL_VERSION_CODE;
    return {};
  });
}

GYRE_EXPORTS(ncclGetErrorString);
const char* gyre_ncclGetErrorString(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to the Gyre developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "NCCL operation in progress";
    case ncclTimeout:
      return "timeout";
    default:
      return "unknown result code";
  }
}

GYRE_EXPORTS(ncclGetLastError);
const char* gyre_ncclGetLastError(ncclComm_t) { return last_error(); }

extern "C" GYRE_API void gyre_ncclResetDebugInit();  // the public one is marked deprecated
void gyre_ncclResetDebugInit() {
  (void)contained("ncclResetDebugInit", []() -> Result<void> {
    log_reset();
    return {};
  });
}

GYRE_EXPORTS(ncclMemAlloc);
ncclResult_t gyre_ncclMemAlloc(void** address, size_t size) {
  return guarded("ncclMemAlloc", [&]() -> Result<void> {
    if (address == nullptr) return Error{Status::invalid_argument, "ptr is NULL"};
    GYRE_TRY_ASSIGN(const gyreBackend* backend, wanted_backend());
    if (backend->kind != gyreDeviceHost) return device_alloc(*backend, address, size);
    GYRE_TRY_ASSIGN(*address, region_alloc(size));
    return {};
  });
}

GYRE_EXPORTS(ncclMemFree);
ncclResult_t gyre_ncclMemFree(void* address) {
  return guarded("ncclMemFree", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const gyreBackend* backend, wanted_backend());
    if (backend->kind != gyreDeviceHost) return device_free(*backend, address);
    return region_free(address);
  });
}

GYRE_EXPORTS(ncclCommRegister);
ncclResult_t gyre_ncclCommRegister(const ncclComm_t comm, void* buffer, size_t size,
                                   void** handle) {
  return guarded("ncclCommRegister", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    if (handle == nullptr) return Error{Status::invalid_argument, "handle is NULL"};
    if (buffer == nullptr || size == 0) {
      return Error{Status::invalid_argument, "the buffer is NULL or empty"};
    }
    GYRE_TRY_ASSIGN(*handle, live->register_memory(buffer, size));
    return {};
  });
}

GYRE_EXPORTS(ncclCommDeregister);
ncclResult_t gyre_ncclCommDeregister(const ncclComm_t comm, void* handle) {
  return guarded("ncclCommDeregister", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    if (handle == nullptr) return {};
    return live->deregister_memory(handle);
  });
}

GYRE_EXPORTS(ncclCommWindowRegister);
ncclResult_t gyre_ncclCommWindowRegister(ncclComm_t comm, void* buffer, size_t size,
                                         ncclWindow_t* window, int) {
  return guarded("ncclCommWindowRegister", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    if (window == nullptr) return Error{Status::invalid_argument, "win is NULL"};
    *window = nullptr;  // success with no window: the caller learns that there are none
    if (buffer == nullptr || size == 0) {
      return Error{Status::invalid_argument, "the buffer is NULL or empty"};
    }
    return {};
  });
}

GYRE_EXPORTS(ncclCommWindowDeregister);
ncclResult_t gyre_ncclCommWindowDeregister(ncclComm_t comm, ncclWindow_t window) {
  return guarded("ncclCommWindowDeregister", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(const auto live, communicator_of(comm));
    if (window != nullptr) {
      return Error{Status::invalid_argument, "the window was not given by this library"};
    }
    return {};
  });
}
