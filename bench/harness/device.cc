#include "bench/harness/device.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <utility>

#include "bench/harness/failure.hpp"

namespace gyre::bench {
namespace {

void* open_libgyre() {
  std::error_code error;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) {
    const auto beside = program.parent_path().parent_path() / "lib" / "libgyre.so";
    if (void* handle = dlopen(beside.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
  }
  return dlopen("libgyre.so", RTLD_NOW | RTLD_LOCAL);
}

template <typename Function>
void bind(void* handle, Function& slot, const char* name) {
  slot = reinterpret_cast<Function>(dlsym(handle, name));
  if (slot == nullptr) {
    throw Failure(ExitCode::device, fmt::format("the device runtime lacks {}", name));
  }
}

}  // namespace

void DeviceApi::check(gyreResult result, const char* call) const {
  if (result == gyreSuccess) return;
  const char* detail = last_error();
  throw Failure(ExitCode::device, fmt::format("{} failed: {}{}{}", call, error_string(result),
                                              detail[0] == '\0' ? "" : ": ", detail));
}

DeviceApi load_device_api(void* library) {
  void* handle = library;
  if (dlsym(handle, "gyreDeviceOpen") == nullptr) handle = open_libgyre();
  if (handle == nullptr) {
    throw Failure(ExitCode::device, fmt::format("no device runtime: {}", dlerror()));
  }
  DeviceApi api;
  bind(handle, api.count, "gyreDeviceCount");
  bind(handle, api.parse_kind, "gyreDeviceKindParse");
  bind(handle, api.open, "gyreDeviceOpen");
  bind(handle, api.close, "gyreDeviceClose");
  bind(handle, api.select, "gyreDeviceSelect");
  bind(handle, api.info, "gyreDeviceGetInfo");
  bind(handle, api.copy, "gyreDeviceCopy");
  bind(handle, api.copy_async, "gyreDeviceCopyAsync");
  bind(handle, api.stream_create, "gyreStreamCreate");
  bind(handle, api.stream_destroy, "gyreStreamDestroy");
  bind(handle, api.stream_synchronize, "gyreStreamSynchronize");
  bind(handle, api.stream_query, "gyreStreamQuery");
  bind(handle, api.event_create, "gyreEventCreate");
  bind(handle, api.event_destroy, "gyreEventDestroy");
  bind(handle, api.event_record, "gyreEventRecord");
  bind(handle, api.event_elapsed, "gyreEventElapsedMs");
  bind(handle, api.error_string, "gyreDeviceErrorString");
  bind(handle, api.last_error, "gyreDeviceLastError");
  return api;
}

Event::Event(const DeviceApi& api, gyreDevice_t device) : api_(&api), device_(device) {
  api.check(api.event_create(device, &event_), "gyreEventCreate");
}

Event::Event(Event&& other) noexcept
    : api_(other.api_), device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(api_->event_destroy(device_, event_));
}

Device::Device(const DeviceApi& api, gyreDeviceKind kind, int ordinal, bool null_stream)
    : api_(api) {
  api_.check(api_.open(kind, ordinal, &device_), "gyreDeviceOpen");
  info_.size = sizeof(info_);
  api_.check(api_.info(device_, &info_), "gyreDeviceGetInfo");
  if (!null_stream) api_.check(api_.stream_create(device_, &stream_), "gyreStreamCreate");
}

Device::~Device() {
  if (stream_ != nullptr) static_cast<void>(api_.stream_destroy(device_, stream_));
  static_cast<void>(api_.close(device_));
}

void Device::select() const { api_.check(api_.select(device_), "gyreDeviceSelect"); }

void Device::copy(void* to, const void* from, std::size_t bytes) const {
  if (bytes > 0) api_.check(api_.copy(device_, to, from, bytes), "gyreDeviceCopy");
}

void Device::copy_async(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  api_.check(api_.copy_async(device_, to, from, bytes, stream_), "gyreDeviceCopyAsync");
}

void Device::synchronize() const {
  api_.check(api_.stream_synchronize(device_, stream_), "gyreStreamSynchronize");
}

bool Device::idle() const {
  const gyreResult result = api_.stream_query(device_, stream_);
  if (result == gyreErrorNotReady) return false;
  api_.check(result, "gyreStreamQuery");
  return true;
}

Event Device::make_event() const { return Event(api_, device_); }

void Device::record(const Event& event) const {
  api_.check(api_.event_record(device_, event.get(), stream_), "gyreEventRecord");
}

double Device::elapsed_ms(const Event& begin, const Event& end) const {
  float milliseconds = 0;
  api_.check(api_.event_elapsed(device_, begin.get(), end.get(), &milliseconds),
             "gyreEventElapsedMs");
  return milliseconds;
}

}  // namespace gyre::bench
