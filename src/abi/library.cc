// What the library says of itself, its memory, and registered buffers.
#include <fmt/format.h>

#include "abi/handle.hpp"
#include "abi/report.hpp"
#include "base/log.hpp"
#include "base/settings.hpp"
#include "transport/shm/region.hpp"

using namespace gyre;       // NOLINT(google-build-using-namespace): the exports speak of both
using namespace gyre::abi;  // NOLINT

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
    GYRE_TRY_ASSIGN(*address, region_alloc(size));
    return {};
  });
}

GYRE_EXPORTS(ncclMemFree);
ncclResult_t gyre_ncclMemFree(void* address) {
  return guarded("ncclMemFree", [&] { return region_free(address); });
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
