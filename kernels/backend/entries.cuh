// The entries of the table, by file. gyre/plugin.h says what each does.
#pragma once

#include "gyre/plugin.h"

namespace gyre::gpu {

// device.cc
gyreResult count_devices(int* count) noexcept;
gyreResult device_info(int ordinal, gyreDeviceInfo* info) noexcept;
gyreResult device_select(int ordinal) noexcept;
gyreResult device_synchronize(int ordinal) noexcept;
gyreResult device_current(int* ordinal) noexcept;
gyreResult device_identity(int ordinal, unsigned char* identity) noexcept;
gyreResult peer_access(int ordinal, int other) noexcept;

// memory.cc
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

// copy.cc
gyreResult copy(int ordinal, void* to, const void* from, size_t bytes) noexcept;
gyreResult copy_async(int ordinal, void* to, const void* from, size_t bytes,
                      gyreStream_t stream) noexcept;
gyreResult fill_async(int ordinal, void* to, int value, size_t bytes, gyreStream_t stream) noexcept;

// stream.cc
gyreResult stream_create(int ordinal, gyreStream_t* stream) noexcept;
gyreResult stream_destroy(int ordinal, gyreStream_t stream) noexcept;
gyreResult stream_synchronize(int ordinal, gyreStream_t stream) noexcept;
gyreResult stream_query(int ordinal, gyreStream_t stream) noexcept;
gyreResult stream_wait_event(int ordinal, gyreStream_t stream, gyreEvent_t event) noexcept;
gyreResult stream_capture(int ordinal, gyreStream_t stream, uint64_t* capture) noexcept;
gyreResult stream_identity(int ordinal, gyreStream_t stream, uint64_t* identity) noexcept;
gyreResult event_create(int ordinal, gyreEvent_t* event) noexcept;
gyreResult event_create_untimed(int ordinal, gyreEvent_t* event) noexcept;
gyreResult event_destroy(int ordinal, gyreEvent_t event) noexcept;
gyreResult event_record(int ordinal, gyreEvent_t event, gyreStream_t stream) noexcept;
gyreResult event_synchronize(int ordinal, gyreEvent_t event) noexcept;
gyreResult event_query(int ordinal, gyreEvent_t event) noexcept;
gyreResult event_elapsed_ms(int ordinal, gyreEvent_t begin, gyreEvent_t end,
                            float* milliseconds) noexcept;

// ipc.cc
gyreResult ipc_export(int ordinal, void* pointer, gyreIpcHandle* handle) noexcept;
gyreResult ipc_import(int ordinal, const gyreIpcHandle* handle, void** pointer) noexcept;
gyreResult ipc_close(int ordinal, void* pointer) noexcept;

// kernel.cc
gyreResult load_kernels(int ordinal) noexcept;
gyreResult resident_blocks(int ordinal, uint32_t kernel, uint32_t threads,
                           uint32_t* blocks) noexcept;
gyreResult launch(int ordinal, const gyreLaunch* launch, gyreStream_t stream) noexcept;

}  // namespace gyre::gpu
