// Mapped files that others can cut short. Touching what lies behind a file's new end raises SIGBUS,
// which would end this process for another one's fault. Under a guard the first such fault puts
// zeroed private memory in place of the whole range, and broken() says so from then on.
//
// The handler is installed with the first guard of the process, for good. What is no guard's it
// hands on to the handler that was there before.
#pragma once

#include <cstddef>
#include <utility>

namespace gyre {

struct GuardedRange;

class FaultGuard {
 public:
  FaultGuard() = default;
  // [base, base + bytes), to the end of its last page, stays mapped until the guard is gone.
  FaultGuard(void* base, std::size_t bytes);
  FaultGuard(FaultGuard&& other) noexcept : range_(std::exchange(other.range_, nullptr)) {}
  FaultGuard& operator=(FaultGuard&& other) noexcept {
    std::swap(range_, other.range_);
    return *this;
  }
  ~FaultGuard();

  bool broken() const;
  // Whether any guard of this process ever broke: one load, for those who look often.
  static bool any_broken();

 private:
  GuardedRange* range_ = nullptr;
};

}  // namespace gyre
