// Loading and starting the interpreter kernels.
#include <fmt/format.h>

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

// Called with the device current. Looking at a kernel loads it.
gyreResult load_kernel(int ordinal, std::uint32_t kernel, int shared_at_most) {
  const void* function = device::kernel_function(kernel);
  FunctionAttributes attributes{};
  Code code = function_attributes(&attributes, function);
  if (code != kOk) return failure(code, "FuncGetAttributes", ordinal);
  // Otherwise launches get 48 KiB at most.
  const int dynamic = shared_at_most - static_cast<int>(attributes.sharedSizeBytes);
  code = function_set(function, kDynamicSharedMemory, dynamic);
  return finish(code, "FuncSetAttribute", ordinal);
}

}  // namespace

gyreResult load_kernels(int ordinal) noexcept {
  return beside_captures(ordinal, [&] {
    int shared_at_most = 0;
    const Code code = device_attribute(&shared_at_most, kSharedMemoryAtMost, ordinal);
    if (code != kOk) return failure(code, "DeviceGetAttribute", ordinal);
    for (std::uint32_t kernel = 0; kernel < device::kKernels; ++kernel) {
      const auto result = load_kernel(ordinal, kernel, shared_at_most);
      if (result != gyreSuccess) return result;
    }
    return gyreSuccess;
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
