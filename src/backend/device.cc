// gyre/device.h: null checks, then the back-end's table.
#include "gyre/device.h"

#include <fmt/format.h>

#include <exception>
#include <new>
#include <string>

#include "backend/last_error.hpp"
#include "backend/loader.hpp"
#include "base/contain.hpp"

struct gyreDevice {
  const gyreBackend* backend;
  int ordinal;
};

namespace gyre {
namespace {

gyreResult null_argument(const char* function, const char* what) {
  return device_failure(gyreErrorInvalidArgument, fmt::format("{}: {} is null", function, what));
}

// No exception leaves the C interface.
template <typename Body>
gyreResult guarded(const char* function, Body&& body) noexcept {
  try {
    return body();
  } catch (const std::bad_alloc&) {
    return device_failure(gyreErrorOutOfMemory, "");
  } catch (...) {
    return device_failure(gyreErrorSystem, error_of_exception(function).text);
  }
}

// Runs `entry(table, ordinal)` of the device's back-end and keeps its error text.
template <typename Entry>
gyreResult forward(const char* function, gyreDevice_t device, Entry&& entry) noexcept {
  return guarded(function, [&] {
    if (device == nullptr) return null_argument(function, "device");
    const gyreResult result = entry(*device->backend, device->ordinal);
    if (result == gyreSuccess || result == gyreErrorNotReady) return result;
    return device_failure(result, std::string(device->backend->last_error()));
  });
}

Result<const gyreBackend*> resolve(gyreDeviceKind kind) {
  return kind != gyreDeviceAuto ? find_backend(kind) : wanted_backend();
}

gyreResult no_backend(const Error& error) {
  const bool wrong = error.status == Status::invalid_argument;
  return device_failure(wrong ? gyreErrorInvalidArgument : gyreErrorNoDevice, error.text);
}

Result<gyreDevice> open_device(gyreDeviceKind kind, int ordinal) {
  GYRE_TRY_ASSIGN(const gyreBackend* backend, resolve(kind));
  int count = 0;
  if (backend->device_count(&count) != gyreSuccess) {
    return Error{Status::system, backend->last_error()};
  }
  const bool is_host = backend->kind == gyreDeviceHost;
  if (ordinal < 0 || (!is_host && ordinal >= count)) {
    return Error{Status::system, fmt::format("{} device {} does not exist: there are {}",
                                             backend->name, ordinal, count)};
  }
  return gyreDevice{backend, is_host ? 0 : ordinal};
}

}  // namespace
}  // namespace gyre

using gyre::forward;
using gyre::guarded;
using gyre::null_argument;

const char* gyreDeviceKindName(gyreDeviceKind kind) { return gyre::name_of(kind); }

gyreResult gyreDeviceKindParse(const char* text, gyreDeviceKind* kind) {
  return guarded(__func__, [&] {
    if (text == nullptr) return null_argument("gyreDeviceKindParse", "text");
    if (kind == nullptr) return null_argument("gyreDeviceKindParse", "kind");
    const auto parsed = gyre::parse_device_kind(text);
    if (!parsed) return gyre::no_backend(parsed.error());
    *kind = *parsed;
    return gyreSuccess;
  });
}

gyreResult gyreDeviceCount(gyreDeviceKind kind, int* count) {
  return guarded(__func__, [&] {
    if (count == nullptr) return null_argument("gyreDeviceCount", "count");
    *count = 0;
    const auto backend = gyre::resolve(kind);
    if (!backend) return gyre::no_backend(backend.error());
    const gyreResult result = (*backend)->device_count(count);
    return result == gyreSuccess ? result : gyre::device_failure(result, (*backend)->last_error());
  });
}

gyreResult gyreDeviceOpen(gyreDeviceKind kind, int ordinal, gyreDevice_t* device) {
  return guarded(__func__, [&] {
    if (device == nullptr) return null_argument("gyreDeviceOpen", "device");
    *device = nullptr;
    const auto opened = gyre::open_device(kind, ordinal);
    if (!opened) return gyre::no_backend(opened.error());
    const gyreResult result = opened->backend->device_select(opened->ordinal);
    if (result != gyreSuccess) return gyre::device_failure(result, opened->backend->last_error());
    *device = new gyreDevice(*opened);
    return gyreSuccess;
  });
}

gyreResult gyreDeviceClose(gyreDevice_t device) {
  delete device;
  return gyreSuccess;
}

gyreResult gyreDeviceSelect(gyreDevice_t device) {
  return forward(__func__, device,
                 [](const gyreBackend& table, int at) { return table.device_select(at); });
}

gyreResult gyreDeviceGetInfo(gyreDevice_t device, gyreDeviceInfo* info) {
  if (info == nullptr) return null_argument(__func__, "info");
  if (info->size < sizeof(gyreDeviceInfo)) {
    return gyre::device_failure(gyreErrorInvalidArgument,
                                "gyreDeviceGetInfo: set info->size to sizeof(gyreDeviceInfo)");
  }
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.device_info(at, info); });
}

gyreResult gyreDeviceSynchronize(gyreDevice_t device) {
  return forward(__func__, device,
                 [](const gyreBackend& table, int at) { return table.device_synchronize(at); });
}

gyreResult gyreDeviceAlloc(gyreDevice_t device, size_t bytes, void** pointer) {
  if (pointer == nullptr) return null_argument(__func__, "pointer");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.memory_alloc(at, bytes, pointer);
  });
}

gyreResult gyreDeviceFree(gyreDevice_t device, void* pointer) {
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.memory_free(at, pointer); });
}

gyreResult gyreHostAlloc(gyreDevice_t device, size_t bytes, void** pointer) {
  if (pointer == nullptr) return null_argument(__func__, "pointer");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.host_alloc(at, bytes, pointer);
  });
}

gyreResult gyreHostFree(gyreDevice_t device, void* pointer) {
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.host_free(at, pointer); });
}

gyreResult gyreDeviceCopy(gyreDevice_t device, void* to, const void* from, size_t bytes) {
  if (bytes == 0) return gyreSuccess;
  if (to == nullptr || from == nullptr) return null_argument(__func__, "a buffer");
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.copy(at, to, from, bytes); });
}

gyreResult gyreDeviceCopyAsync(gyreDevice_t device, void* to, const void* from, size_t bytes,
                               gyreStream_t stream) {
  if (bytes == 0) return gyreSuccess;
  if (to == nullptr || from == nullptr) return null_argument(__func__, "a buffer");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.copy_async(at, to, from, bytes, stream);
  });
}

gyreResult gyreDeviceFill(gyreDevice_t device, void* to, int value, size_t bytes,
                          gyreStream_t stream) {
  if (bytes == 0) return gyreSuccess;
  if (to == nullptr) return null_argument(__func__, "the buffer");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.fill_async(at, to, value, bytes, stream);
  });
}

gyreResult gyreStreamCreate(gyreDevice_t device, gyreStream_t* stream) {
  if (stream == nullptr) return null_argument(__func__, "stream");
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.stream_create(at, stream); });
}

gyreResult gyreStreamDestroy(gyreDevice_t device, gyreStream_t stream) {
  if (stream == nullptr) return gyreSuccess;
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.stream_destroy(at, stream);
  });
}

gyreResult gyreStreamSynchronize(gyreDevice_t device, gyreStream_t stream) {
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.stream_synchronize(at, stream);
  });
}

gyreResult gyreStreamQuery(gyreDevice_t device, gyreStream_t stream) {
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.stream_query(at, stream); });
}

gyreResult gyreStreamWaitEvent(gyreDevice_t device, gyreStream_t stream, gyreEvent_t event) {
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.stream_wait_event(at, stream, event);
  });
}

gyreResult gyreEventCreate(gyreDevice_t device, gyreEvent_t* event) {
  if (event == nullptr) return null_argument(__func__, "event");
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.event_create(at, event); });
}

gyreResult gyreEventDestroy(gyreDevice_t device, gyreEvent_t event) {
  if (event == nullptr) return gyreSuccess;
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.event_destroy(at, event); });
}

gyreResult gyreEventRecord(gyreDevice_t device, gyreEvent_t event, gyreStream_t stream) {
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.event_record(at, event, stream);
  });
}

gyreResult gyreEventSynchronize(gyreDevice_t device, gyreEvent_t event) {
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.event_synchronize(at, event);
  });
}

gyreResult gyreEventQuery(gyreDevice_t device, gyreEvent_t event) {
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.event_query(at, event); });
}

gyreResult gyreEventElapsedMs(gyreDevice_t device, gyreEvent_t begin, gyreEvent_t end,
                              float* milliseconds) {
  if (milliseconds == nullptr) return null_argument(__func__, "milliseconds");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.event_elapsed_ms(at, begin, end, milliseconds);
  });
}

gyreResult gyreIpcExport(gyreDevice_t device, void* pointer, gyreIpcHandle* handle) {
  if (pointer == nullptr) return null_argument(__func__, "pointer");
  if (handle == nullptr) return null_argument(__func__, "handle");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.ipc_export(at, pointer, handle);
  });
}

gyreResult gyreIpcImport(gyreDevice_t device, const gyreIpcHandle* handle, void** pointer) {
  if (handle == nullptr) return null_argument(__func__, "handle");
  if (pointer == nullptr) return null_argument(__func__, "pointer");
  return forward(__func__, device, [&](const gyreBackend& table, int at) {
    return table.ipc_import(at, handle, pointer);
  });
}

gyreResult gyreIpcClose(gyreDevice_t device, void* pointer) {
  if (pointer == nullptr) return gyreSuccess;
  return forward(__func__, device,
                 [&](const gyreBackend& table, int at) { return table.ipc_close(at, pointer); });
}

const char* gyreDeviceErrorString(gyreResult result) {
  switch (result) {
    case gyreSuccess:
      return "success";
    case gyreErrorInvalidArgument:
      return "invalid argument";
    case gyreErrorNotReady:
      return "not ready";
    case gyreErrorOutOfMemory:
      return "out of memory";
    case gyreErrorNoDevice:
      return "no such device";
    case gyreErrorUnsupported:
      return "not supported by this back-end";
    case gyreErrorSystem:
      return "system or driver error";
    case gyreErrorWork:
      return "earlier work of the stream failed";
    case gyreErrorForked:
      return "object of the parent process used after fork";
  }
  return "unknown error";
}

const char* gyreDeviceLastError(void) { return gyre::device_last_error(); }
