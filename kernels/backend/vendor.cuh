// What CUDA and HIP do in ways too different for one name each: backend_cuda/ and backend_hip/ hold
// one definition of each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/backend/runtime.cuh"

namespace gyre::gpu {

inline constexpr int kMostDevices = 64;
inline constexpr std::size_t kIdentityBytes = 16;

// Makes a device the calling thread's own, and gives the thread back what it had before.
class OnDevice {
 public:
  explicit OnDevice(int ordinal);
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;
  ~OnDevice();

  Code code() const { return code_; }

 private:
  Code code_ = kOk;
  bool changed_ = false;
  int before_ = 0;
};

// What the driver reads once, when the process first uses it.
void prepare_process();

gyreResult result_of(Code code);
// What a user can do about it; "" where nothing is known.
const char* remedy_of(Code code);

Code identity_of(int ordinal, unsigned char* identity);

// The allocation that a pointer lies in; zeros where the vendor does not tell.
struct Allocation {
  void* base = nullptr;
  std::size_t bytes = 0;
  std::uint64_t number = 0;
};
Allocation allocation_of(const void* pointer);

}  // namespace gyre::gpu
