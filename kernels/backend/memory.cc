// Memory of the device, memory of the host that the device reaches, and what a pointer points to.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"

namespace gyre::gpu {
namespace {

// Called with the device current.
gyreResult no_memory(Code code, const char* call, int ordinal, std::size_t bytes) {
  std::size_t free = 0, total = 0;
  if (code != kNoMemory || memory_state(&free, &total) != kOk) {
    return failure(code, call, ordinal, fmt::format(" of {} bytes", bytes));
  }
  return failure(code, call, ordinal,
                 fmt::format(" of {} bytes, where {} of {} are free,", bytes, free, total));
}

// Pinned once for all devices of the process, however many of them ask for it.
struct Pinned {
  std::mutex mutex;
  struct Range {
    std::size_t bytes = 0;
    int users = 0;
  };
  std::map<void*, Range> ranges;
};

// Never destroyed: threads may still be at work when the process ends.
Pinned& pinned() {
  static auto& all = *new Pinned;
  return all;
}

// Called with the lock held.
gyreResult pin(int ordinal, void* pointer, std::size_t bytes) {
  auto& ranges = pinned().ranges;
  const auto [found, added] = ranges.try_emplace(pointer);
  Pinned::Range& range = found->second;
  if (!added && range.bytes == bytes) {
    ++range.users;
    return gyreSuccess;
  }
  const Code code = host_pin(pointer, bytes, kHostRegister);
  if (code == kOk) {
    range = {bytes, 1};
    return gyreSuccess;
  }
  if (added) ranges.erase(found);
  return failure(code, "HostRegister", ordinal, fmt::format(" of {} bytes", bytes));
}

// Called with the lock held.
gyreResult unpin(int ordinal, void* pointer) {
  auto& ranges = pinned().ranges;
  const auto found = ranges.find(pointer);
  if (found == ranges.end()) {
    return refuse(gyreErrorInvalidArgument, fmt::format("{} was not registered here", pointer));
  }
  if (--found->second.users > 0) return gyreSuccess;
  ranges.erase(found);
  return finish(host_unpin(pointer), "HostUnregister", ordinal);
}

}  // namespace

gyreResult memory_alloc(int ordinal, size_t bytes, void** pointer) noexcept {
  *pointer = nullptr;
  if (bytes == 0) return gyreSuccess;
  return beside_captures(ordinal, [&] {
    const Code code = memory_take(pointer, bytes);
    if (code == kOk) return gyreSuccess;
    *pointer = nullptr;
    return no_memory(code, "Malloc", ordinal, bytes);
  });
}

gyreResult memory_free(int ordinal, void* pointer) noexcept {
  if (pointer == nullptr) return gyreSuccess;
  return beside_captures(ordinal, [&] { return finish(memory_give(pointer), "Free", ordinal); });
}

// In capture these two become nodes of the graph, so they keep the thread's capture mode.
gyreResult memory_alloc_async(int ordinal, size_t bytes, void** pointer,
                              gyreStream_t stream) noexcept {
  *pointer = nullptr;
  if (bytes == 0) return gyreSuccess;
  return on_device(ordinal, [&] {
    const Code code = memory_take_async(pointer, bytes, native(stream));
    if (code == kOk) return gyreSuccess;
    *pointer = nullptr;
    return no_memory(code, "MallocAsync", ordinal, bytes);
  });
}

gyreResult memory_free_async(int ordinal, void* pointer, gyreStream_t stream) noexcept {
  if (pointer == nullptr) return gyreSuccess;
  return on_device(ordinal, [&] {
    return finish(memory_give_async(pointer, native(stream)), "FreeAsync", ordinal);
  });
}

gyreResult host_alloc(int ordinal, size_t bytes, void** pointer) noexcept {
  *pointer = nullptr;
  if (bytes == 0) return gyreSuccess;
  return beside_captures(ordinal, [&] {
    const Code code = host_take(pointer, bytes, kHostAlloc);
    if (code == kOk) return gyreSuccess;
    *pointer = nullptr;
    return failure(code, "HostAlloc", ordinal, fmt::format(" of {} bytes", bytes));
  });
}

gyreResult host_free(int ordinal, void* pointer) noexcept {
  if (pointer == nullptr) return gyreSuccess;
  return beside_captures(ordinal, [&] { return finish(host_give(pointer), "FreeHost", ordinal); });
}

gyreResult host_register(int ordinal, void* pointer, size_t bytes, void** device_pointer) noexcept {
  *device_pointer = nullptr;
  return beside_captures(ordinal, [&] {
    const std::lock_guard lock(pinned().mutex);
    if (const auto result = pin(ordinal, pointer, bytes); result != gyreSuccess) return result;
    const Code code = host_device_pointer(device_pointer, pointer, 0);
    if (code == kOk) return gyreSuccess;
    *device_pointer = nullptr;
    (void)unpin(ordinal, pointer);  // before the failure that is told
    return failure(code, "HostGetDevicePointer", ordinal);
  });
}

gyreResult host_unregister(int ordinal, void* pointer) noexcept {
  return beside_captures(ordinal, [&] {
    const std::lock_guard lock(pinned().mutex);
    return unpin(ordinal, pointer);
  });
}

gyreResult pointer_info(int ordinal, const void* pointer, gyrePointerInfo* info) noexcept {
  if (info->size < sizeof(gyrePointerInfo)) {
    return refuse(gyreErrorInvalidArgument,
                  "pointer_info: set info->size to sizeof(gyrePointerInfo)");
  }
  return beside_captures(ordinal, [&] {
    PointerAttributes attributes{};
    const Code code = pointer_attributes(&attributes, pointer);
    *info = {info->size, gyrePointerUnknown, -1, nullptr, 0, 0};
    // What older runtimes say of memory that they do not know.
    if (code == kInvalidValue) {
      (void)take_last_error();
      return gyreSuccess;
    }
    if (code != kOk) return failure(code, "PointerGetAttributes", ordinal);
    info->kind = kind_of(attributes, pointer);
    if (info->kind == gyrePointerUnknown) return gyreSuccess;
    const Allocation allocation = allocation_of(pointer);
    info->ordinal = attributes.device;
    info->base = allocation.base;
    info->bytes = allocation.bytes;
    info->allocation = allocation.number;
    return gyreSuccess;
  });
}

}  // namespace gyre::gpu
