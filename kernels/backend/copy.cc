// Copies and fills.
#include <fmt/format.h>

#include <array>
#include <atomic>
#include <mutex>

#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"

namespace gyre::gpu {
namespace {

// The stream of copies that are ordered with no other stream. The runtime's own synchronous copy
// would wait for the null stream's work, and a kernel there may wait for what this thread does
// next. Called with the device current; the stream stays for the life of the process.
Code copy_stream(int ordinal, Stream& stream) {
  static std::array<std::atomic<Stream>, kMostDevices> streams;
  static std::mutex mutex;
  auto& slot = streams[static_cast<std::size_t>(ordinal) % kMostDevices];
  stream = slot.load(std::memory_order_acquire);
  if (stream != nullptr) return kOk;
  const std::lock_guard lock(mutex);
  stream = slot.load(std::memory_order_relaxed);
  if (stream != nullptr) return kOk;
  const Code code = stream_make(&stream, kStreamNonBlocking);
  if (code == kOk) slot.store(stream, std::memory_order_release);
  return code;
}

std::string of_bytes(std::size_t bytes) { return fmt::format(" of {} bytes", bytes); }

}  // namespace

gyreResult copy(int ordinal, void* to, const void* from, size_t bytes) noexcept {
  if (bytes == 0) return gyreSuccess;
  return beside_captures(ordinal, [&] {
    Stream stream = nullptr;
    Code code = copy_stream(ordinal, stream);
    if (code != kOk) return failure(code, "StreamCreateWithFlags", ordinal);
    code = memory_copy_async(to, from, bytes, kCopyAnyWay, stream);
    if (code != kOk) return failure(code, "MemcpyAsync", ordinal, of_bytes(bytes));
    return finish(stream_wait(stream), "StreamSynchronize", ordinal);
  });
}

gyreResult copy_async(int ordinal, void* to, const void* from, size_t bytes,
                      gyreStream_t stream) noexcept {
  if (bytes == 0) return gyreSuccess;
  return on_device(ordinal, [&] {
    const Code code = memory_copy_async(to, from, bytes, kCopyAnyWay, native(stream));
    return code == kOk ? gyreSuccess : failure(code, "MemcpyAsync", ordinal, of_bytes(bytes));
  });
}

gyreResult fill_async(int ordinal, void* to, int value, size_t bytes,
                      gyreStream_t stream) noexcept {
  if (bytes == 0) return gyreSuccess;
  return on_device(ordinal, [&] {
    const Code code = memory_set_async(to, value, bytes, native(stream));
    return code == kOk ? gyreSuccess : failure(code, "MemsetAsync", ordinal, of_bytes(bytes));
  });
}

}  // namespace gyre::gpu
