// What the tests of kernels/device need of a GPU, without its vendor's headers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/types.hpp"
#include "kernels/device/fold_task.hpp"

namespace gyre::device_test {

// Each of these gives null, or why it could not.
using Problem = const char*;

Problem find_device();
Problem allocate(std::byte** memory, std::uint64_t bytes);
Problem upload(std::byte* device, const std::byte* host, std::uint64_t bytes);
Problem download(std::byte* host, const std::byte* device, std::uint64_t bytes);
void release(std::byte* memory);

// One block does the task, whose pointers are to memory of the device; the caller waits for it.
Problem fold_on_device(const device::FoldTask& task, DataType type, bool copy);

}  // namespace gyre::device_test
