// The entries of the emulated device's table, by file; those of streams and events are the host's,
// since a host stream is the ordered queue that a device's is. gyre/plugin.h says what each does.
#pragma once

#include "gyre/plugin.h"

namespace gyre::emulated {

inline constexpr int kDevices = 8;

// memory_entries.cc
gyreResult memory_alloc(int ordinal, size_t bytes, void** pointer) noexcept;
gyreResult memory_free(int ordinal, void* pointer) noexcept;
gyreResult memory_alloc_async(int ordinal, size_t bytes, void** pointer,
                              gyreStream_t stream) noexcept;
gyreResult memory_free_async(int ordinal, void* pointer, gyreStream_t stream) noexcept;
gyreResult host_alloc(int ordinal, size_t bytes, void** pointer) noexcept;
gyreResult host_free(int ordinal, void* pointer) noexcept;
gyreResult host_register(int ordinal, void* pointer, size_t bytes, void** device_pointer) noexcept;
gyreResult host_unregister(int ordinal, void* pointer) noexcept;
gyreResult pointer_info(int ordinal, const void* pointer, gyrePointerInfo* info) noexcept;

// ipc_entries.cc
gyreResult ipc_export(int ordinal, void* pointer, gyreIpcHandle* handle) noexcept;
gyreResult ipc_import(int ordinal, const gyreIpcHandle* handle, void** pointer) noexcept;
gyreResult ipc_close(int ordinal, void* pointer) noexcept;

// stream_entries.cc
gyreResult copy_async(int ordinal, void* to, const void* from, size_t bytes,
                      gyreStream_t stream) noexcept;
gyreResult fill_async(int ordinal, void* to, int value, size_t bytes, gyreStream_t stream) noexcept;
gyreResult stream_destroy(int ordinal, gyreStream_t stream) noexcept;
gyreResult stream_synchronize(int ordinal, gyreStream_t stream) noexcept;
gyreResult stream_query(int ordinal, gyreStream_t stream) noexcept;
gyreResult stream_wait_event(int ordinal, gyreStream_t stream, gyreEvent_t event) noexcept;
gyreResult event_record(int ordinal, gyreEvent_t event, gyreStream_t stream) noexcept;
gyreResult launch(int ordinal, const gyreLaunch* launch, gyreStream_t stream) noexcept;

// The stream itself: null and the vendors' special handles, 1 and 2, mean one that is always there.
gyreStream_t real(gyreStream_t stream) noexcept;

}  // namespace gyre::emulated
