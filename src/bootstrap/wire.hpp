// Writing and reading the little-endian fields of messages. The reader is bounded: whatever the
// bytes, it reads nothing outside them, and remembers that it ran out.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace gyre {

class WireWriter {
 public:
  template <std::unsigned_integral T>
  void number(T value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) {
      bytes_.push_back(static_cast<std::byte>(static_cast<std::uint64_t>(value) >> (8 * i)));
    }
  }
  void raw(std::span<const std::byte> bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  }
  void raw(std::span<const std::uint8_t> bytes) { raw(std::as_bytes(bytes)); }
  // A 32-bit length, then the bytes.
  void sized(std::span<const std::byte> bytes) {
    number(static_cast<std::uint32_t>(bytes.size()));
    raw(bytes);
  }
  void text(std::string_view text) { sized(std::as_bytes(std::span(text.data(), text.size()))); }

  void reserve(std::size_t bytes) { bytes_.reserve(bytes); }
  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class WireReader {
 public:
  explicit WireReader(std::span<const std::byte> bytes) : left_(bytes) {}

  template <std::unsigned_integral T>
  T number() {
    const auto bytes = raw(sizeof(T));
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
      value |= static_cast<std::uint64_t>(bytes[i]) << (8 * i);
    }
    return static_cast<T>(value);
  }
  // `count` bytes, or none (and failed()) if there are fewer.
  std::span<const std::byte> raw(std::size_t count) {
    if (failed_ || count > left_.size()) {
      failed_ = true;
      return {};
    }
    const auto bytes = left_.first(count);
    left_ = left_.subspan(count);
    return bytes;
  }
  template <std::size_t N>
  std::array<std::uint8_t, N> array() {
    std::array<std::uint8_t, N> values{};
    const auto bytes = raw(N);
    if (!bytes.empty()) std::memcpy(values.data(), bytes.data(), N);
    return values;
  }
  std::span<const std::byte> sized(std::size_t max) {
    const auto count = number<std::uint32_t>();
    if (count > max) failed_ = true;
    return raw(count);
  }
  std::string text(std::size_t max) {
    const auto bytes = sized(max);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  bool failed() const { return failed_; }
  // Everything was there, and nothing is left over.
  bool complete() const { return !failed_ && left_.empty(); }

 private:
  std::span<const std::byte> left_;
  bool failed_ = false;
};

}  // namespace gyre
