// The one symbol of the emulated device, which Gyre takes for CUDA's back-end.
#include <fmt/format.h>

#include <cstdio>
#include <cstring>

#include "backend/host_backend.hpp"
#include "backend/last_error.hpp"
#include "kernels/device/work.hpp"
#include "tests/emulated/end.hpp"
#include "tests/emulated/entries.hpp"

namespace gyre::emulated {
namespace {

// So few that ranks get few channels, and their blocks run on a small machine.
constexpr std::uint32_t kResidentBlocks = 40;

thread_local int current = 0;

gyreResult device_count(int* count) {
  *count = kDevices;
  return gyreSuccess;
}

gyreResult device_info(int ordinal, gyreDeviceInfo* info) {
  info->kind = gyreDeviceCuda;
  info->ordinal = ordinal;
  info->memory_bytes = std::uint64_t{1} << 30;
  std::snprintf(info->name, sizeof info->name, "emulated");
  return gyreSuccess;
}

gyreResult device_select(int ordinal) {
  if (ordinal < 0 || ordinal >= kDevices) {
    return device_failure(gyreErrorNoDevice, fmt::format("there is no device {}", ordinal));
  }
  current = ordinal;
  return gyreSuccess;
}

gyreResult device_current(int* ordinal) {
  *ordinal = current;
  return gyreSuccess;
}

gyreResult device_identity(int ordinal, unsigned char* identity) {
  std::memset(identity, 0, 16);
  std::memcpy(identity, "emulated", 8);
  identity[15] = static_cast<unsigned char>(ordinal);
  return gyreSuccess;
}

gyreResult peer_access(int, int) { return gyreSuccess; }

gyreResult stream_capture(int, gyreStream_t, std::uint64_t* capture) {
  *capture = 0;
  return gyreSuccess;
}

// Not known, as on HIP.
gyreResult stream_identity(int, gyreStream_t, std::uint64_t* identity) {
  *identity = 0;
  return gyreSuccess;
}

gyreResult load_kernels(int) { return gyreSuccess; }

gyreResult resident_blocks(int, std::uint32_t kernel, std::uint32_t, std::uint32_t* blocks) {
  *blocks = kResidentBlocks;
  if (kernel < device::kKernels) return gyreSuccess;
  return device_failure(gyreErrorInvalidArgument, fmt::format("there is no kernel {}", kernel));
}

gyreBackend make_table() {
  gyreBackend table = *host_backend();
  table.kind = gyreDeviceCuda;
  table.name = "cuda";
  table.device_count = device_count;
  table.device_info = device_info;
  table.device_select = device_select;
  table.memory_alloc = memory_alloc;
  table.memory_free = memory_free;
  table.host_alloc = host_alloc;
  table.host_free = host_free;
  table.copy_async = copy_async;
  table.fill_async = fill_async;
  table.stream_destroy = stream_destroy;
  table.stream_synchronize = stream_synchronize;
  table.stream_query = stream_query;
  table.stream_wait_event = stream_wait_event;
  table.event_record = event_record;
  table.ipc_export = ipc_export;
  table.ipc_import = ipc_import;
  table.ipc_close = ipc_close;
  table.device_current = device_current;
  table.device_identity = device_identity;
  table.peer_access = peer_access;
  table.pointer_info = pointer_info;
  table.memory_alloc_async = memory_alloc_async;
  table.memory_free_async = memory_free_async;
  table.host_register = host_register;
  table.host_unregister = host_unregister;
  table.event_create_untimed = table.event_create;
  table.stream_capture = stream_capture;
  table.stream_identity = stream_identity;
  table.load_kernels = load_kernels;
  table.resident_blocks = resident_blocks;
  table.launch = launch;
  return table;
}

}  // namespace
}  // namespace gyre::emulated

extern "C" __attribute__((visibility("default"))) const gyreBackend* gyreBackendTable(
    uint32_t version) {
  static const gyreBackend table = [] {
    gyre::emulated::watch_end();
    return gyre::emulated::make_table();
  }();
  return version == GYRE_BACKEND_VERSION ? &table : nullptr;
}
