#include "backend/host_backend.hpp"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#include "backend/host_event.hpp"
#include "backend/host_stream.hpp"
#include "backend/last_error.hpp"
#include "base/contain.hpp"
#include "base/memory.hpp"
#include "base/process.hpp"

namespace gyre {
namespace {

constexpr std::size_t kAlignment = 256;

gyreResult bad(const char* what) { return device_failure(gyreErrorInvalidArgument, what); }

gyreResult refused() { return device_failure(gyreErrorForked, refuse_in_child().error().text); }

// Runs `action` on the stream behind `handle` (null: the null stream) unless it cannot be one.
template <typename Action>
gyreResult on_stream(gyreStream_t handle, Action&& action) {
  if (forked()) return refused();
  if (handle == nullptr) return action(static_cast<HostStream*>(nullptr));
  HostStream* stream = HostStream::from(handle);
  if (stream == nullptr) return bad("not a live host stream");
  return action(stream);
}

template <typename Action>
gyreResult on_event(gyreEvent_t handle, Action&& action) {
  if (forked()) return refused();
  HostEvent* event = HostEvent::from(handle);
  if (event == nullptr) return bad("not a live host event");
  return action(event);
}

gyreResult device_count(int* count) {
  *count = 1;
  return gyreSuccess;
}

gyreResult device_info(int ordinal, gyreDeviceInfo* info) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  info->kind = gyreDeviceHost;
  info->ordinal = ordinal;
  info->memory_bytes = static_cast<std::uint64_t>(std::max(pages, 0L)) * page_size();
  std::snprintf(info->name, sizeof info->name, "host");
  return gyreSuccess;
}

gyreResult device_select(int) { return gyreSuccess; }

gyreResult memory_alloc(int, std::size_t bytes, void** pointer) {
  *pointer = nullptr;
  if (bytes == 0) return gyreSuccess;
  // Large blocks start on a huge page: first touch of 4 KiB pages costs many times more.
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : kAlignment;
  if (::posix_memalign(pointer, alignment, bytes) != 0) {
    return device_failure(gyreErrorOutOfMemory,
                          fmt::format("the host has no {} bytes of memory to give", bytes));
  }
  if (bytes >= kHugePage) ::madvise(*pointer, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
  return gyreSuccess;
}

gyreResult memory_free(int, void* pointer) {
  std::free(pointer);
  return gyreSuccess;
}

gyreResult copy(int, void* to, const void* from, std::size_t bytes) {
  if (bytes > 0) std::memcpy(to, from, bytes);
  return gyreSuccess;
}

gyreResult copy_async(int ordinal, void* to, const void* from, std::size_t bytes,
                      gyreStream_t handle) {
  return on_stream(handle, [&](HostStream* stream) {
    if (stream == nullptr) return copy(ordinal, to, from, bytes);
    return device_result(stream->enqueue([=] { std::memcpy(to, from, bytes); }));
  });
}

gyreResult fill_async(int, void* to, int value, std::size_t bytes, gyreStream_t handle) {
  return on_stream(handle, [&](HostStream* stream) {
    if (stream != nullptr) {
      return device_result(stream->enqueue([=] { std::memset(to, value, bytes); }));
    }
    if (bytes > 0) std::memset(to, value, bytes);
    return gyreSuccess;
  });
}

gyreResult stream_create(int, gyreStream_t* stream) {
  if (forked()) return refused();
  auto created = HostStream::create();
  if (!created) return device_result(created.error());
  *stream = static_cast<gyreStream_t>((*created)->handle());
  return gyreSuccess;
}

gyreResult stream_error(const Result<void>& result) {
  return result ? gyreSuccess : device_failure(gyreErrorWork, result.error().text);
}

gyreResult stream_destroy(int, gyreStream_t handle) {
  return on_stream(handle, [](HostStream* stream) {
    if (stream == nullptr) return gyreSuccess;
    const auto owner = HostStream::release(stream);
    return owner ? stream_error((*owner)->synchronize()) : device_result(owner.error());
  });
}

gyreResult device_synchronize(int) {
  return forked() ? refused() : stream_error(HostStream::synchronize_all());
}

gyreResult stream_synchronize(int, gyreStream_t handle) {
  return on_stream(handle, [](HostStream* stream) {
    return stream == nullptr ? gyreSuccess : stream_error(stream->synchronize());
  });
}

gyreResult stream_query(int, gyreStream_t handle) {
  return on_stream(handle, [](HostStream* stream) {
    if (stream == nullptr) return gyreSuccess;
    if (!stream->idle()) return device_failure(gyreErrorNotReady, "the stream has work to do");
    const auto error = stream->error();
    return error ? device_failure(gyreErrorWork, error->text) : gyreSuccess;
  });
}

gyreResult stream_wait_event(int, gyreStream_t stream_handle, gyreEvent_t event_handle) {
  return on_stream(stream_handle, [&](HostStream* stream) {
    return on_event(event_handle,
                    [&](HostEvent* event) { return device_result(event->hold_back(stream)); });
  });
}

gyreResult event_create(int, gyreEvent_t* event) {
  if (forked()) return refused();
  return device_result(contained("creating an event", [&]() -> Result<void> {
    *event = reinterpret_cast<gyreEvent_t>(new HostEvent);
    return {};
  }));
}

gyreResult event_destroy(int, gyreEvent_t handle) {
  return on_event(handle, [](HostEvent* event) {
    delete event;
    return gyreSuccess;
  });
}

gyreResult event_record(int, gyreEvent_t event_handle, gyreStream_t stream_handle) {
  return on_stream(stream_handle, [&](HostStream* stream) {
    return on_event(event_handle,
                    [&](HostEvent* event) { return device_result(event->record(stream)); });
  });
}

gyreResult event_synchronize(int, gyreEvent_t handle) {
  return on_event(handle, [](HostEvent* event) { return stream_error(event->synchronize()); });
}

gyreResult event_query(int, gyreEvent_t handle) {
  return on_event(handle, [](HostEvent* event) {
    const auto result = event->query();
    return result.status() == Status::busy ? device_result(result) : stream_error(result);
  });
}

gyreResult event_elapsed_ms(int, gyreEvent_t begin_handle, gyreEvent_t end_handle, float* elapsed) {
  return on_event(begin_handle, [&](HostEvent* begin) {
    return on_event(end_handle, [&](HostEvent* end) {
      const auto from = begin->reached_at();
      if (!from) return device_result(from.error());
      const auto to = end->reached_at();
      if (!to) return device_result(to.error());
      *elapsed = std::chrono::duration<float, std::milli>(*to - *from).count();
      return gyreSuccess;
    });
  });
}

gyreResult no_ipc() {
  return device_failure(gyreErrorUnsupported,
                        "plain host memory cannot be mapped by another process: take memory that "
                        "peers can map from ncclMemAlloc");
}
gyreResult ipc_export(int, void*, gyreIpcHandle*) { return no_ipc(); }
gyreResult ipc_import(int, const gyreIpcHandle*, void**) { return no_ipc(); }
gyreResult ipc_close(int, void*) { return no_ipc(); }

}  // namespace

const gyreBackend* host_backend() {
  static constexpr gyreBackend kTable{
      .size = sizeof(gyreBackend),
      .version = GYRE_BACKEND_VERSION,
      .kind = gyreDeviceHost,
      .name = "host",
      .last_error = device_last_error,
      .device_count = device_count,
      .device_info = device_info,
      .device_select = device_select,
      .device_synchronize = device_synchronize,
      .memory_alloc = memory_alloc,
      .memory_free = memory_free,
      .host_alloc = memory_alloc,
      .host_free = memory_free,
      .copy = copy,
      .copy_async = copy_async,
      .fill_async = fill_async,
      .stream_create = stream_create,
      .stream_destroy = stream_destroy,
      .stream_synchronize = stream_synchronize,
      .stream_query = stream_query,
      .stream_wait_event = stream_wait_event,
      .event_create = event_create,
      .event_destroy = event_destroy,
      .event_record = event_record,
      .event_synchronize = event_synchronize,
      .event_query = event_query,
      .event_elapsed_ms = event_elapsed_ms,
      .ipc_export = ipc_export,
      .ipc_import = ipc_import,
      .ipc_close = ipc_close,
      .device_current = nullptr,
      .device_identity = nullptr,
      .peer_access = nullptr,
      .pointer_info = nullptr,
      .memory_alloc_async = nullptr,
      .memory_free_async = nullptr,
      .host_register = nullptr,
      .host_unregister = nullptr,
      .event_create_untimed = nullptr,
      .stream_capture = nullptr,
      .stream_identity = nullptr,
      .load_kernels = nullptr,
      .resident_blocks = nullptr,
      .launch = nullptr,
  };
  return &kTable;
}

}  // namespace gyre
