// gyre/device.h with RAII and exceptions.
#pragma once

#include <gyre/device.h>

#include <cstddef>
#include <stdexcept>
#include <string>
#include <utility>

namespace gyre::train {

inline void require(gyreResult result) {
  if (result == gyreSuccess) return;
  throw std::runtime_error(std::string(gyreDeviceErrorString(result)) + ": " +
                           gyreDeviceLastError());
}

class Device {
 public:
  Device(gyreDeviceKind kind, int ordinal) {
    require(gyreDeviceOpen(kind, ordinal, &handle_));
    gyreDeviceInfo info{};
    info.size = sizeof info;
    require(gyreDeviceGetInfo(handle_, &info));
    kind_ = info.kind;
    name_ = info.name;
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;
  ~Device() { gyreDeviceClose(handle_); }

  gyreDevice_t handle() const { return handle_; }
  bool is_host() const { return kind_ == gyreDeviceHost; }
  const std::string& name() const { return name_; }

 private:
  gyreDevice_t handle_ = nullptr;
  gyreDeviceKind kind_ = gyreDeviceHost;
  std::string name_;
};

class Stream {
 public:
  explicit Stream(const Device& device) : device_(device.handle()) {
    require(gyreStreamCreate(device_, &handle_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { gyreStreamDestroy(device_, handle_); }

  gyreStream_t handle() const { return handle_; }
  void synchronize() const { require(gyreStreamSynchronize(device_, handle_)); }

 private:
  gyreDevice_t device_;
  gyreStream_t handle_ = nullptr;
};

class Event {
 public:
  explicit Event(const Device& device) : device_(device.handle()) {
    require(gyreEventCreate(device_, &handle_));
  }
  Event(Event&& other) noexcept
      : device_(other.device_), handle_(std::exchange(other.handle_, nullptr)) {}
  Event& operator=(Event&&) = delete;
  ~Event() { gyreEventDestroy(device_, handle_); }

  void record(const Stream& stream) const {
    require(gyreEventRecord(device_, handle_, stream.handle()));
  }
  float ms_since(const Event& begin) const {
    float elapsed = 0;
    require(gyreEventElapsedMs(device_, begin.handle_, handle_, &elapsed));
    return elapsed;
  }

 private:
  gyreDevice_t device_;
  gyreEvent_t handle_ = nullptr;
};

// Floats of device memory.
class DeviceFloats {
 public:
  DeviceFloats(const Device& device, std::size_t count) : device_(device.handle()) {
    void* pointer = nullptr;
    require(gyreDeviceAlloc(device_, count * sizeof(float), &pointer));
    data_ = static_cast<float*>(pointer);
  }
  DeviceFloats(DeviceFloats&& other) noexcept
      : device_(other.device_), data_(std::exchange(other.data_, nullptr)) {}
  DeviceFloats& operator=(DeviceFloats&&) = delete;
  ~DeviceFloats() {
    if (data_ != nullptr) gyreDeviceFree(device_, data_);
  }
  float* data() const { return data_; }

 private:
  gyreDevice_t device_;
  float* data_ = nullptr;
};

}  // namespace gyre::train
