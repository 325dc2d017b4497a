// Devices: how many, which, and what they are.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"

namespace gyre::gpu {

gyreResult count_devices(int* count) noexcept {
  const Code code = device_count(count);
  if (code == kOk) return gyreSuccess;
  *count = 0;
  return failure(code, "GetDeviceCount", -1);
}

gyreResult device_info(int ordinal, gyreDeviceInfo* info) noexcept {
  Properties properties{};
  const Code code = device_properties(&properties, ordinal);
  if (code != kOk) return failure(code, "GetDeviceProperties", ordinal);
  info->kind = kKind;
  info->ordinal = ordinal;
  info->memory_bytes = properties.totalGlobalMem;
  const std::size_t length =
      std::min(::strnlen(properties.name, sizeof properties.name), sizeof info->name - 1);
  std::memcpy(info->name, properties.name, length);
  info->name[length] = '\0';
  return gyreSuccess;
}

gyreResult device_select(int ordinal) noexcept {
  return finish(device_set(ordinal), "SetDevice", ordinal);
}

gyreResult device_current(int* ordinal) noexcept {
  return finish(device_get(ordinal), "GetDevice", -1);
}

gyreResult device_synchronize(int ordinal) noexcept {
  return beside_captures(ordinal,
                         [&] { return finish(device_wait(), "DeviceSynchronize", ordinal); });
}

gyreResult device_identity(int ordinal, unsigned char* identity) noexcept {
  return finish(identity_of(ordinal, identity), "DeviceGetUuid", ordinal);
}

namespace {

// Lets `ordinal` use the memory of the other device's pool.
Code open_pool(int ordinal, int other) {
  Pool pool{};
  // Without pools there is nothing to open.
  if (default_pool(&pool, other) != kOk) {
    (void)take_last_error();
    return kOk;
  }
  PoolAccess access{};
  access.location.type = kOnDeviceMemory;
  access.location.id = ordinal;
  access.flags = kReadAndWrite;
  return pool_set_access(pool, &access, 1);
}

}  // namespace

gyreResult peer_access(int ordinal, int other) noexcept {
  if (ordinal == other) return gyreSuccess;
  return beside_captures(ordinal, [&] {
    int possible = 0;
    Code code = peer_possible(&possible, ordinal, other);
    if (code != kOk) return failure(code, "DeviceCanAccessPeer", ordinal);
    if (possible == 0) {
      return refuse(gyreErrorUnsupported,
                    fmt::format("{} device {} has no path to the memory of device {}", kTitle,
                                ordinal, other));
    }
    code = peer_enable(other, 0);
    if (code == kPeerIsAccessible) {
      (void)take_last_error();
    } else if (code != kOk) {
      return failure(code, "DeviceEnablePeerAccess", ordinal);
    }
    // What memory_alloc_async gives there is nobody else's otherwise.
    return finish(open_pool(ordinal, other), "MemPoolSetAccess", ordinal);
  });
}

}  // namespace gyre::gpu
