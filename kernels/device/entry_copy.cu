// Holds the place of the interpreter kernels.
#include "kernels/device/entry.hpp"
#include "kernels/device/work.hpp"

namespace gyre::device {
namespace {

__global__ void do_nothing(const __grid_constant__ Launch launch) {
  if (launch.rank != nullptr && launch.chains > 0) __syncthreads();
}

}  // namespace

const void* kernel_function(std::uint32_t) { return reinterpret_cast<const void*>(&do_nothing); }

}  // namespace gyre::device
