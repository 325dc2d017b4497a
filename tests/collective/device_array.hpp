// An array of a rank's calls in its device's memory; of a rank on the host in the host's.
#pragma once

#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "tests/collective/rank_memory.hpp"

namespace gyre::test {

template <typename T>
class DeviceArray {
 public:
  explicit DeviceArray(const std::vector<T>& values) : count_(values.size()) {
    memory_ = take_mirror(bytes());
    if (memory_ == nullptr) {
      on_host_.resize(bytes());
      memory_ = on_host_.data();
    }
    write(values);
  }
  DeviceArray(std::size_t count, T value) : DeviceArray(std::vector<T>(count, value)) {}
  DeviceArray(DeviceArray&& other) noexcept
      : count_(other.count_), memory_(other.memory_), on_host_(std::move(other.on_host_)) {
    other.memory_ = nullptr;
  }
  DeviceArray& operator=(DeviceArray&&) = delete;
  ~DeviceArray() {
    if (memory_ != nullptr && on_host_.empty()) give_mirror(memory_, bytes());
  }

  T* data() const { return reinterpret_cast<T*>(memory_); }
  std::size_t count() const { return count_; }
  std::size_t bytes() const { return count_ * sizeof(T); }
  // Both at once: what uses the memory must be done.
  void write(const std::vector<T>& values) {
    if (bytes() != 0) push(memory_, reinterpret_cast<const std::byte*>(values.data()), bytes());
  }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    if (bytes() != 0) pull(reinterpret_cast<std::byte*>(values.data()), memory_, bytes());
    return values;
  }

 private:
  std::size_t count_ = 0;
  std::byte* memory_ = nullptr;
  std::vector<std::byte> on_host_;
};

}  // namespace gyre::test
