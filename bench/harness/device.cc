#include "bench/harness/device.hpp"

#include <fmt/format.h>

#include <utility>

#include "bench/harness/failure.hpp"

namespace gyre::bench {

void check_device(gyreResult result, const char* call) {
  if (result == gyreSuccess) return;
  const char* detail = gyreDeviceLastError();
  throw Failure(ExitCode::device,
                fmt::format("{} failed: {}{}{}", call, gyreDeviceErrorString(result),
                            detail[0] == '\0' ? "" : ": ", detail));
}

Event::Event(gyreDevice_t device) : device_(device) {
  check_device(gyreEventCreate(device, &event_), "gyreEventCreate");
}

Event::Event(Event&& other) noexcept
    : device_(other.device_), event_(std::exchange(other.event_, nullptr)) {}

Event::~Event() {
  if (event_ != nullptr) static_cast<void>(gyreEventDestroy(device_, event_));
}

Device::Device(gyreDeviceKind kind, int ordinal, bool null_stream) {
  check_device(gyreDeviceOpen(kind, ordinal, &device_), "gyreDeviceOpen");
  info_.size = sizeof(info_);
  check_device(gyreDeviceGetInfo(device_, &info_), "gyreDeviceGetInfo");
  if (!null_stream) check_device(gyreStreamCreate(device_, &stream_), "gyreStreamCreate");
}

Device::~Device() {
  if (stream_ != nullptr) static_cast<void>(gyreStreamDestroy(device_, stream_));
  static_cast<void>(gyreDeviceClose(device_));
}

void Device::select() const { check_device(gyreDeviceSelect(device_), "gyreDeviceSelect"); }

void Device::copy(void* to, const void* from, std::size_t bytes) const {
  if (bytes > 0) check_device(gyreDeviceCopy(device_, to, from, bytes), "gyreDeviceCopy");
}

void Device::copy_async(void* to, const void* from, std::size_t bytes) const {
  if (bytes == 0) return;
  check_device(gyreDeviceCopyAsync(device_, to, from, bytes, stream_), "gyreDeviceCopyAsync");
}

void Device::synchronize() const {
  check_device(gyreStreamSynchronize(device_, stream_), "gyreStreamSynchronize");
}

bool Device::idle() const {
  const gyreResult result = gyreStreamQuery(device_, stream_);
  if (result == gyreErrorNotReady) return false;
  check_device(result, "gyreStreamQuery");
  return true;
}

Event Device::make_event() const { return Event(device_); }

void Device::record(const Event& event) const {
  check_device(gyreEventRecord(device_, event.get(), stream_), "gyreEventRecord");
}

double Device::elapsed_ms(const Event& begin, const Event& end) const {
  float milliseconds = 0;
  check_device(gyreEventElapsedMs(device_, begin.get(), end.get(), &milliseconds),
               "gyreEventElapsedMs");
  return milliseconds;
}

}  // namespace gyre::bench
