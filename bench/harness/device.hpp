// gyre/device.h for the benches: its functions found at run time, its handles as owners.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "gyre/device.h"

namespace gyre::bench {

// The functions of gyre/device.h that the benches need. They come from the library under test
// when it has them (or depends on a library that has), else from libgyre.so beside the program.
struct DeviceApi {
  decltype(&::gyreDeviceCount) count = nullptr;
  decltype(&::gyreDeviceKindParse) parse_kind = nullptr;
  decltype(&::gyreDeviceOpen) open = nullptr;
  decltype(&::gyreDeviceClose) close = nullptr;
  decltype(&::gyreDeviceSelect) select = nullptr;
  decltype(&::gyreDeviceGetInfo) info = nullptr;
  decltype(&::gyreDeviceCopy) copy = nullptr;
  decltype(&::gyreDeviceCopyAsync) copy_async = nullptr;
  decltype(&::gyreStreamCreate) stream_create = nullptr;
  decltype(&::gyreStreamDestroy) stream_destroy = nullptr;
  decltype(&::gyreStreamSynchronize) stream_synchronize = nullptr;
  decltype(&::gyreStreamQuery) stream_query = nullptr;
  decltype(&::gyreEventCreate) event_create = nullptr;
  decltype(&::gyreEventDestroy) event_destroy = nullptr;
  decltype(&::gyreEventRecord) event_record = nullptr;
  decltype(&::gyreEventElapsedMs) event_elapsed = nullptr;
  decltype(&::gyreDeviceErrorString) error_string = nullptr;
  decltype(&::gyreDeviceLastError) last_error = nullptr;

  // Throws Failure that names the call and says why it failed.
  void check(gyreResult result, const char* call) const;
};

// `library` is a dlopen handle, searched first. Throws Failure if the functions are nowhere.
DeviceApi load_device_api(void* library);

class Event {
 public:
  Event(const DeviceApi& api, gyreDevice_t device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  gyreEvent_t get() const { return event_; }

 private:
  const DeviceApi* api_;
  gyreDevice_t device_;
  gyreEvent_t event_ = nullptr;
};

// One device and the stream of one rank on it. Used by one thread at a time.
class Device {
 public:
  // `null_stream`: stream() is the null stream.
  Device(const DeviceApi& api, gyreDeviceKind kind, int ordinal, bool null_stream);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  gyreStream_t stream() const { return stream_; }
  bool is_host() const { return info_.kind == gyreDeviceHost; }
  const gyreDeviceInfo& info() const { return info_; }

  void select() const;
  void copy(void* to, const void* from, std::size_t bytes) const;
  void copy_async(void* to, const void* from, std::size_t bytes) const;
  void synchronize() const;
  // Whether all work of the stream is complete; never waits.
  bool idle() const;

  Event make_event() const;
  void record(const Event& event) const;
  // Milliseconds between two events that are complete.
  double elapsed_ms(const Event& begin, const Event& end) const;

 private:
  const DeviceApi& api_;
  gyreDevice_t device_ = nullptr;
  gyreStream_t stream_ = nullptr;
  gyreDeviceInfo info_{};
};

}  // namespace gyre::bench
