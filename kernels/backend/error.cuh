// How entries end: codes of the runtime become gyreResults with a text.
#pragma once

#include <string_view>
#include <utility>

#include "kernels/backend/vendor.cuh"

namespace gyre::gpu {

// Keeps `text` for this thread, cut where it is too long, and returns `code`. Never throws, and
// needs no memory: lack of memory is one of the things to report.
gyreResult refuse(gyreResult code, std::string_view text) noexcept;

// The text names the call (given without the vendor's prefix), the device (none: -1) and the
// remedy, if one is known; `detail` says what was asked for. Takes the runtime's last error back.
gyreResult failure(Code code, const char* call, int ordinal, std::string_view detail = {}) noexcept;

inline gyreResult finish(Code code, const char* call, int ordinal) noexcept {
  return code == kOk ? gyreSuccess : failure(code, call, ordinal);
}

const char* last_error() noexcept;

// What is left of an exception at the border of the table.
gyreResult caught() noexcept;

// Runs `body` with the device current.
template <typename Body>
gyreResult on_device(int ordinal, Body&& body) noexcept {
  try {
    const OnDevice device(ordinal);
    if (device.code() != kOk) return failure(device.code(), "SetDevice", ordinal);
    return std::forward<Body>(body)();
  } catch (...) {
    return caught();
  }
}

// Lets this thread make calls that would end a capture which another thread, or this one, has
// begun: the driver cannot know that what Gyre does there is no part of the captured work.
class Relaxed {
 public:
  Relaxed() { (void)capture_mode(&mode_); }
  Relaxed(const Relaxed&) = delete;
  Relaxed& operator=(const Relaxed&) = delete;
  ~Relaxed() { (void)capture_mode(&mode_); }

 private:
  CaptureMode mode_ = kRelaxed;
};

template <typename Body>
gyreResult beside_captures(int ordinal, Body&& body) noexcept {
  return on_device(ordinal, [&] {
    const Relaxed relaxed;
    return body();
  });
}

}  // namespace gyre::gpu
