// Ranks as threads, for the bootstrap's tests.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "bootstrap/control.hpp"

namespace gyre::test {

// Runs `body(rank)` on one thread each.
inline void run_ranks(int world, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int rank = 0; rank < world; ++rank) threads.emplace_back([&body, rank] { body(rank); });
  for (auto& thread : threads) thread.join();
}

inline std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

inline std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// Waits for a condition that another thread brings about; false if it never does.
inline bool eventually(const std::function<bool()>& condition,
                       milliseconds limit = milliseconds(10'000)) {
  const Deadline deadline = Deadline::after(limit);
  while (!condition()) {
    if (deadline.expired()) return false;
    ::poll(nullptr, 0, 1);
  }
  return true;
}

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

// A bound in seconds for this build: sanitizers slow everything down.
constexpr double allowed(double seconds) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return 8 * seconds;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
  return 8 * seconds;
#else
  return seconds;
#endif
#else
  return seconds;
#endif
}

inline std::size_t entries_of(const char* folder) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(folder)) ++count;
  return count;
}
inline std::size_t open_descriptors() { return entries_of("/proc/self/fd"); }
inline std::size_t running_threads() { return entries_of("/proc/self/task"); }

// Remembers what the hub told one rank.
class Recorder : public ControlEvents {
 public:
  void announced(int from, Error error) override {
    const std::lock_guard lock(mutex_);
    announcements_.emplace_back(from, std::move(error.text));
  }
  void lost(int rank, std::string how) override {
    const std::lock_guard lock(mutex_);
    lost_.emplace_back(rank, std::move(how));
  }
  void left(int rank) override {
    const std::lock_guard lock(mutex_);
    left_.push_back(rank);
  }
  ProgressCounts progress() override { return counts; }

  std::vector<std::pair<int, std::string>> announcements() const { return copy(announcements_); }
  std::vector<std::pair<int, std::string>> losses() const { return copy(lost_); }
  std::vector<int> leavers() const { return copy(left_); }

  ProgressCounts counts;

 private:
  template <typename T>
  T copy(const T& value) const {
    const std::lock_guard lock(mutex_);
    return value;
  }
  mutable std::mutex mutex_;
  std::vector<std::pair<int, std::string>> announcements_;
  std::vector<std::pair<int, std::string>> lost_;
  std::vector<int> left_;
};

}  // namespace gyre::test
