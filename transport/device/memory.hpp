// Memory of a back-end that kernels use.
#pragma once

#include <cstddef>
#include <string_view>
#include <utility>

#include "base/memory.hpp"
#include "base/status.hpp"
#include "gyre/plugin.h"

namespace gyre {

// Memory of a back-end, left over with its owner (leftovers.hpp).
class DeviceMemory {
 public:
  DeviceMemory() = default;
  // Zeroed. Host memory is pinned, and devices reach it at the same address.
  static Result<DeviceMemory> on_device(const gyreBackend& backend, int ordinal, std::size_t bytes);
  static Result<DeviceMemory> on_host(const gyreBackend& backend, int ordinal, std::size_t bytes);
  DeviceMemory(DeviceMemory&& other) noexcept { *this = std::move(other); }
  DeviceMemory& operator=(DeviceMemory&& other) noexcept;
  ~DeviceMemory();

  std::byte* data() const { return static_cast<std::byte*>(data_); }

 private:
  DeviceMemory(const gyreBackend& backend, int ordinal, bool host)
      : backend_(&backend), ordinal_(ordinal), host_(host) {}

  const gyreBackend* backend_ = nullptr;
  int ordinal_ = 0;
  bool host_ = false;
  void* data_ = nullptr;
};

// Host memory that devices reach, of ordinary pages: unlike what the vendors allocate, other
// processes read it as they do any memory. Zeroed; left over with its owner.
class ReachedMemory {
 public:
  ReachedMemory() = default;
  static Result<ReachedMemory> create(const gyreBackend& backend, int ordinal, std::size_t bytes);
  ReachedMemory(ReachedMemory&& other) noexcept { *this = std::move(other); }
  ReachedMemory& operator=(ReachedMemory&& other) noexcept;
  ~ReachedMemory();

  std::byte* data() const { return mapping_.data(); }
  std::size_t size() const { return mapping_.size(); }
  std::byte* on_device() const { return static_cast<std::byte*>(on_device_); }

 private:
  const gyreBackend* backend_ = nullptr;
  int ordinal_ = 0;
  Mapping mapping_;
  void* on_device_ = nullptr;
};

// "device 0 ...: <what>: <the back-end's text>".
Error device_error(const gyreBackend& backend, int ordinal, std::string_view what);

// Closes memory of another process once that does no harm.
void close_later(const gyreBackend& backend, int ordinal, void* imported);

}  // namespace gyre
