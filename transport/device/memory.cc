#include "transport/device/memory.hpp"

#include <fmt/format.h>

#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "transport/device/leftovers.hpp"

namespace gyre {
namespace {

// One stream for each device and no more: streams share a few queues, and every new one makes it
// likelier that two ranks of a process meet in one.
Result<gyreStream_t> stream_of_ours(const gyreBackend& backend, int ordinal) {
  struct Streams {
    std::mutex mutex;
    std::map<std::pair<const gyreBackend*, int>, gyreStream_t> by_device;
  };
  // Never destroyed: threads may still be at work when the process ends.
  static auto& streams = *new Streams;
  const std::lock_guard lock(streams.mutex);
  gyreStream_t& stream = streams.by_device[{&backend, ordinal}];
  if (stream == nullptr && backend.stream_create(ordinal, &stream) != gyreSuccess) {
    return device_error(backend, ordinal, "creating a stream");
  }
  return stream;
}

}  // namespace

Error device_error(const gyreBackend& backend, int ordinal, std::string_view what) {
  return Error{Status::device, fmt::format("{} device {}: {}: {}", backend.name, ordinal, what,
                                           backend.last_error())};
}

void close_later(const gyreBackend& backend, int ordinal, void* imported) {
  Leftovers::of_process().add(
      [&backend, ordinal, imported] { (void)backend.ipc_close(ordinal, imported); });
}

Result<DeviceMemory> DeviceMemory::on_device(const gyreBackend& backend, int ordinal,
                                             std::size_t bytes) {
  DeviceMemory memory(backend, ordinal, /*host=*/false);
  if (backend.memory_alloc(ordinal, bytes, &memory.data_) != gyreSuccess) {
    return device_error(backend, ordinal, fmt::format("allocating {} bytes", bytes));
  }
  // On a stream of its own: the default stream would wait for the user's.
  GYRE_TRY_ASSIGN(const gyreStream_t stream, stream_of_ours(backend, ordinal));
  if (backend.fill_async(ordinal, memory.data_, 0, bytes, stream) != gyreSuccess ||
      backend.stream_synchronize(ordinal, stream) != gyreSuccess) {
    return device_error(backend, ordinal, "clearing memory");
  }
  return memory;
}

Result<DeviceMemory> DeviceMemory::on_host(const gyreBackend& backend, int ordinal,
                                           std::size_t bytes) {
  DeviceMemory memory(backend, ordinal, /*host=*/true);
  if (backend.host_alloc(ordinal, bytes, &memory.data_) != gyreSuccess) {
    return device_error(backend, ordinal, fmt::format("pinning {} bytes of host memory", bytes));
  }
  std::memset(memory.data_, 0, bytes);
  return memory;
}

DeviceMemory& DeviceMemory::operator=(DeviceMemory&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(ordinal_, other.ordinal_);
  std::swap(host_, other.host_);
  std::swap(data_, other.data_);
  return *this;
}

DeviceMemory::~DeviceMemory() {
  if (data_ == nullptr) return;
  const auto give_back = host_ ? backend_->host_free : backend_->memory_free;
  Leftovers::of_process().add(
      [give_back, ordinal = ordinal_, data = data_] { (void)give_back(ordinal, data); });
}

Result<ReachedMemory> ReachedMemory::create(const gyreBackend& backend, int ordinal,
                                            std::size_t bytes) {
  ReachedMemory memory;
  GYRE_TRY_ASSIGN(memory.mapping_, Mapping::anonymous(round_up(bytes, page_size())));
  if (backend.host_register(ordinal, memory.mapping_.data(), memory.mapping_.size(),
                            &memory.on_device_) != gyreSuccess) {
    return device_error(backend, ordinal, fmt::format("pinning {} bytes of host memory", bytes));
  }
  memory.backend_ = &backend;
  memory.ordinal_ = ordinal;
  return memory;
}

ReachedMemory& ReachedMemory::operator=(ReachedMemory&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(ordinal_, other.ordinal_);
  std::swap(mapping_, other.mapping_);
  std::swap(on_device_, other.on_device_);
  return *this;
}

ReachedMemory::~ReachedMemory() {
  if (backend_ == nullptr) return;
  auto mapping = std::make_shared<Mapping>(std::move(mapping_));
  Leftovers::of_process().add([unregister = backend_->host_unregister, ordinal = ordinal_,
                               mapping] { (void)unregister(ordinal, mapping->data()); });
}

}  // namespace gyre
