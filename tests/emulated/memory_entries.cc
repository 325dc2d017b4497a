#include <fmt/format.h>

#include <cstdlib>
#include <cstring>

#include "backend/host_backend.hpp"
#include "backend/host_stream.hpp"
#include "backend/last_error.hpp"
#include "tests/emulated/end.hpp"
#include "tests/emulated/entries.hpp"
#include "tests/emulated/memory.hpp"

namespace gyre::emulated {
namespace {

constexpr std::size_t kPinAlignment = 4096;

gyreResult not_ours(const void* pointer) {
  return device_failure(gyreErrorInvalidArgument,
                        fmt::format("{} is not the begin of such memory", pointer));
}

// The vendors' free calls wait for all work of the device.
void wait_for_device(int ordinal) {
  expect_alive("a call that frees memory");
  (void)host_backend()->device_synchronize(ordinal);
}

}  // namespace

gyreResult memory_alloc(int ordinal, size_t bytes, void** pointer) noexcept {
  *pointer = nullptr;
  if (bytes == 0) return gyreSuccess;
  const auto heap = Heap::of_process();
  if (!heap) return device_failure(gyreErrorSystem, heap.error().text);
  const auto taken = (*heap)->take(bytes);
  if (!taken) return device_failure(gyreErrorOutOfMemory, taken.error().text);
  *pointer = *taken;
  Ranges::of_process().add({*taken, bytes, gyrePointerDevice, ordinal, 0});
  return gyreSuccess;
}

gyreResult memory_free(int ordinal, void* pointer) noexcept {
  if (pointer == nullptr) return gyreSuccess;
  wait_for_device(ordinal);
  const auto range = Ranges::of_process().remove(pointer);
  if (!range) return not_ours(pointer);
  (*Heap::of_process())->give(range->base);
  return gyreSuccess;
}

gyreResult memory_alloc_async(int ordinal, size_t bytes, void** pointer, gyreStream_t) noexcept {
  return memory_alloc(ordinal, bytes, pointer);
}

gyreResult memory_free_async(int, void* pointer, gyreStream_t stream) noexcept {
  if (pointer == nullptr) return gyreSuccess;
  return device_result(HostStream::from(real(stream))->enqueue([pointer]() -> Result<void> {
    const auto range = Ranges::of_process().remove(pointer);
    if (!range) return Error{Status::invalid_argument, "memory that was freed twice"};
    (*Heap::of_process())->give(range->base);
    return {};
  }));
}

gyreResult host_alloc(int ordinal, size_t bytes, void** pointer) noexcept {
  *pointer = nullptr;
  if (bytes == 0) return gyreSuccess;
  if (::posix_memalign(pointer, kPinAlignment, bytes) != 0) {
    return device_failure(gyreErrorOutOfMemory,
                          fmt::format("the host has no {} bytes to give", bytes));
  }
  std::memset(*pointer, kPattern, bytes);
  return host_register(ordinal, *pointer, bytes, pointer);
}

gyreResult host_free(int ordinal, void* pointer) noexcept {
  if (pointer == nullptr) return gyreSuccess;
  wait_for_device(ordinal);
  if (const auto result = host_unregister(ordinal, pointer); result != gyreSuccess) return result;
  std::free(pointer);
  return gyreSuccess;
}

gyreResult host_register(int ordinal, void* pointer, size_t bytes, void** device_pointer) noexcept {
  Ranges::of_process().add({static_cast<std::byte*>(pointer), bytes, gyrePointerHost, ordinal, 0});
  *device_pointer = pointer;
  return gyreSuccess;
}

gyreResult host_unregister(int, void* pointer) noexcept {
  return Ranges::of_process().remove(pointer) ? gyreSuccess : not_ours(pointer);
}

gyreResult pointer_info(int, const void* pointer, gyrePointerInfo* info) noexcept {
  if (info->size < sizeof(gyrePointerInfo)) {
    return device_failure(gyreErrorInvalidArgument,
                          "pointer_info: set info->size to sizeof(gyrePointerInfo)");
  }
  expect_alive("pointer_info");
  *info = {info->size, gyrePointerUnknown, -1, nullptr, 0, 0};
  const auto range = Ranges::of_process().find(pointer);
  if (!range) return gyreSuccess;
  info->kind = range->kind;
  info->ordinal = range->ordinal;
  info->base = range->base;
  info->bytes = range->bytes;
  info->allocation = range->number;
  return gyreSuccess;
}

}  // namespace gyre::emulated
