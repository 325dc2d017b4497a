// Loading and starting the interpreter kernels.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "kernels/backend/entries.cuh"
#include "kernels/backend/error.cuh"
#include "kernels/device/entry.hpp"
#include "kernels/device/work.hpp"

namespace gyre::gpu {
namespace {

gyreResult no_kernel(std::uint32_t kernel) {
  return refuse(gyreErrorInvalidArgument,
                fmt::format("kernel {} does not exist: there are {}", kernel, device::kKernels));
}

// Blocks of a kernel that a multiprocessor holds, by its launch bounds.
constexpr std::size_t kBlocksTogether = 2;

// Called with the device current. Looking at a kernel loads it. Gives the shared memory of a block.
Code load_kernel(std::uint32_t kernel, std::size_t& shared_bytes) {
  FunctionAttributes attributes{};
  const Code code = function_attributes(&attributes, device::kernel_function(kernel));
  shared_bytes = attributes.sharedSizeBytes;
  return code;
}

// A multiprocessor that is at work keeps its division into cache and shared memory, so all kernels
// ask for the same one: else blocks of one could not join those of another, and the count of blocks
// that fit would be wrong.
Code divide_alike(int ordinal, std::size_t shared_bytes) {
  int most = 0;
  Code code = device_attribute(&most, kSharedMemoryOfProcessor, ordinal);
  if (code != kOk || most <= 0) return code;
  const std::size_t percent = 100 * kBlocksTogether * shared_bytes / static_cast<std::size_t>(most);
  const int wanted = static_cast<int>(std::min<std::size_t>(100, percent + 1));
  for (std::uint32_t kernel = 0; kernel < device::kKernels && code == kOk; ++kernel) {
    code = function_set(device::kernel_function(kernel), kSharedMemoryCarveout, wanted);
  }
  return code;
}

}  // namespace

gyreResult load_kernels(int ordinal) noexcept {
  return beside_captures(ordinal, [&] {
    std::size_t most_shared = 0;
    for (std::uint32_t kernel = 0; kernel < device::kKernels; ++kernel) {
      std::size_t shared = 0;
      const Code code = load_kernel(kernel, shared);
      if (code != kOk) return failure(code, "FuncGetAttributes", ordinal);
      most_shared = std::max(most_shared, shared);
    }
    return finish(divide_alike(ordinal, most_shared), "FuncSetAttribute", ordinal);
  });
}

gyreResult resident_blocks(int ordinal, uint32_t kernel, uint32_t threads,
                           uint32_t* blocks) noexcept {
  *blocks = 0;
  if (kernel >= device::kKernels) return no_kernel(kernel);
  return beside_captures(ordinal, [&] {
    int processors = 0, each = 0;
    Code code = device_attribute(&processors, kProcessorCount, ordinal);
    if (code != kOk) return failure(code, "DeviceGetAttribute", ordinal);
    code = function_occupancy(&each, device::kernel_function(kernel), static_cast<int>(threads), 0);
    if (code != kOk) return failure(code, "OccupancyMaxActiveBlocksPerMultiprocessor", ordinal);
    *blocks = static_cast<std::uint32_t>(processors) * static_cast<std::uint32_t>(each);
    return gyreSuccess;
  });
}

gyreResult launch(int ordinal, const gyreLaunch* launch, gyreStream_t stream) noexcept {
  if (launch->kernel >= device::kKernels) return no_kernel(launch->kernel);
  if (launch->size < sizeof(gyreLaunch) || launch->argument_bytes != sizeof(device::Launch)) {
    return refuse(gyreErrorInvalidArgument,
                  "the launch is of another version: build the plugin and libgyre.so from the same "
                  "sources");
  }
  return on_device(ordinal, [&] {
    std::array<void*, 1> arguments = {const_cast<void*>(launch->arguments)};
    const Code code = function_launch(device::kernel_function(launch->kernel), dim3(launch->blocks),
                                      dim3(launch->threads), arguments.data(), launch->shared_bytes,
                                      native(stream));
    if (code == kOk) return gyreSuccess;
    return failure(code, "LaunchKernel", ordinal,
                   fmt::format(" of kernel {} with {} blocks of {} threads", launch->kernel,
                               launch->blocks, launch->threads));
  });
}

}  // namespace gyre::gpu
