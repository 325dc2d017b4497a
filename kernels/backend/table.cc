// The one symbol that the plugin exports.
#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"

extern "C" __attribute__((visibility("default"))) const gyreBackend*
gyreBackendTable(  // NOLINT(readability-identifier-naming): GYRE_BACKEND_SYMBOL
    uint32_t version) {
  using namespace gyre::gpu;
  static constexpr gyreBackend kTable{
      .size = sizeof(gyreBackend),
      .version = GYRE_BACKEND_VERSION,
      .kind = kKind,
      .name = kName,
      .last_error = last_error,
      .device_count = count_devices,
      .device_info = device_info,
      .device_select = device_select,
      .device_synchronize = device_synchronize,
      .memory_alloc = memory_alloc,
      .memory_free = memory_free,
      .host_alloc = host_alloc,
      .host_free = host_free,
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
      .device_current = device_current,
      .device_identity = device_identity,
      .peer_access = peer_access,
      .pointer_info = pointer_info,
      .memory_alloc_async = memory_alloc_async,
      .memory_free_async = memory_free_async,
      .host_register = host_register,
      .host_unregister = host_unregister,
      .event_create_untimed = event_create_untimed,
      .stream_capture = stream_capture,
      .stream_identity = stream_identity,
      .load_kernels = load_kernels,
      .resident_blocks = resident_blocks,
      .launch = launch,
  };
  if (version != GYRE_BACKEND_VERSION) return nullptr;
  gyre::gpu::prepare_process();
  return &kTable;
}
