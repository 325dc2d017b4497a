#include "tests/collective/rank_memory.hpp"

#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

namespace gyre::test {
namespace {

void require(gyreResult result, const char* what) {
  if (result == gyreSuccess) return;
  std::fprintf(stderr, "FAILED: %s: %s\n", what, gyreDeviceLastError());
  std::abort();
}

struct Pool {
  std::mutex mutex;
  std::map<std::size_t, std::vector<std::byte*>> free;
};
Pool& pool() {
  static Pool all;
  return all;
}

std::size_t class_of(std::size_t bytes) { return std::bit_ceil(bytes + 256); }

}  // namespace

gyreDevice_t rank_device() {
  static gyreDevice_t device = [] {
    gyreDevice_t opened = nullptr;
    require(gyreDeviceOpen(gyreDeviceAuto, 0, &opened), "opening the ranks' device");
    return opened;
  }();
  return device;
}

bool ranks_are_on_device() {
  static const bool on_device = [] {
    gyreDeviceInfo info{};
    info.size = sizeof info;
    require(gyreDeviceGetInfo(rank_device(), &info), "asking for the ranks' device");
    return info.kind != gyreDeviceHost;
  }();
  return on_device;
}

cudaStream_t rank_stream() {
  if (!ranks_are_on_device()) return nullptr;
  gyreStream_t stream = nullptr;
  require(gyreStreamCreate(rank_device(), &stream), "creating a stream");
  // A stream that is used for the first time may wait for all kernels of its device.
  std::byte* const memory = take_mirror(1);
  const std::byte zero{};
  require(gyreDeviceCopyAsync(rank_device(), memory, &zero, 1, stream), "using a stream");
  require(gyreStreamSynchronize(rank_device(), stream), "using a stream");
  give_mirror(memory, 1);
  return stream;
}

const char* wait_for(cudaStream_t stream) {
  if (!ranks_are_on_device()) return "";
  return gyreStreamSynchronize(rank_device(), stream) == gyreSuccess ? "" : gyreDeviceLastError();
}

std::byte* take_mirror(std::size_t bytes) {
  if (!ranks_are_on_device()) return nullptr;
  const std::lock_guard lock(pool().mutex);
  auto& free = pool().free[class_of(bytes)];
  if (free.empty()) {
    void* fresh = nullptr;
    require(gyreDeviceAlloc(rank_device(), class_of(bytes), &fresh), "allocating a buffer");
    return static_cast<std::byte*>(fresh);
  }
  std::byte* mirror = free.back();
  free.pop_back();
  return mirror;
}

void give_mirror(std::byte* mirror, std::size_t bytes) {
  const std::lock_guard lock(pool().mutex);
  pool().free[class_of(bytes)].push_back(mirror);
}

void push(std::byte* mirror, const std::byte* host, std::size_t bytes) {
  require(gyreDeviceCopy(rank_device(), mirror, host, bytes), "copying to the device");
}

void pull(std::byte* host, const std::byte* mirror, std::size_t bytes) {
  require(gyreDeviceCopy(rank_device(), host, mirror, bytes), "copying from the device");
}

}  // namespace gyre::test
