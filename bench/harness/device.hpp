// gyre/device.h for the benches: its handles as owners, its errors as exceptions.
#pragma once

#include <cstddef>

#include "gyre/device.h"

namespace gyre::bench {

// Throws Failure that names the call and says why it failed.
void check_device(gyreResult result, const char* call);

class Event {
 public:
  explicit Event(gyreDevice_t device);
  ~Event();
  Event(Event&& other) noexcept;
  Event& operator=(Event&&) = delete;
  gyreEvent_t get() const { return event_; }

 private:
  gyreDevice_t device_;
  gyreEvent_t event_ = nullptr;
};

// One device and the stream of one rank on it. Used by one thread at a time.
class Device {
 public:
  // `null_stream`: stream() is the null stream.
  Device(gyreDeviceKind kind, int ordinal, bool null_stream);
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
  gyreDevice_t device_ = nullptr;
  gyreStream_t stream_ = nullptr;
  gyreDeviceInfo info_{};
};

}  // namespace gyre::bench
