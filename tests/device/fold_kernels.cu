#include "kernels/device/fold.cuh"
#include "tests/device/fold_kernels.hpp"

namespace gyre::device_test {
namespace {

#if GYRE_ON_HIP
using Error = hipError_t;
constexpr Error kSuccess = hipSuccess;
Error count_devices(int* count) { return hipGetDeviceCount(count); }
Error take(void** memory, std::size_t bytes) { return hipMalloc(memory, bytes); }
Error give_back(void* memory) { return hipFree(memory); }
Error move(void* to, const void* from, std::size_t bytes) {
  return hipMemcpy(to, from, bytes, hipMemcpyDefault);
}
Error wait() {
  const Error launched = hipGetLastError();
  return launched != kSuccess ? launched : hipDeviceSynchronize();
}
const char* name_of(Error error) { return hipGetErrorString(error); }
#else
using Error = cudaError_t;
constexpr Error kSuccess = cudaSuccess;
Error count_devices(int* count) { return cudaGetDeviceCount(count); }
Error take(void** memory, std::size_t bytes) { return cudaMalloc(memory, bytes); }
Error give_back(void* memory) { return cudaFree(memory); }
Error move(void* to, const void* from, std::size_t bytes) {
  return cudaMemcpy(to, from, bytes, cudaMemcpyDefault);
}
Error wait() {
  const Error launched = cudaGetLastError();
  return launched != kSuccess ? launched : cudaDeviceSynchronize();
}
const char* name_of(Error error) { return cudaGetErrorString(error); }
#endif

Problem problem_of(Error error) { return error == kSuccess ? nullptr : name_of(error); }

// As the interpreter does: the task lies in shared memory. The storage is bytes because a shared
// variable cannot have a constructor.
template <DataType type>
__global__ void __launch_bounds__(device::kThreads) run(const device::FoldTask given) {
  __shared__ alignas(device::FoldTask) unsigned char storage[sizeof(device::FoldTask)];
  auto& task = *reinterpret_cast<device::FoldTask*>(storage);
  if (threadIdx.x == 0) task = given;
  __syncthreads();
  if (task.folds) {
    device::fold_block<type>(task);
  } else {
    device::copy_block(task);
  }
}

using Kernel = void (*)(device::FoldTask);

// By the number of the type.
constexpr Kernel kKernels[kDataTypes] = {
    run<DataType::int8>,     run<DataType::uint8>,      run<DataType::int32>,
    run<DataType::uint32>,   run<DataType::int64>,      run<DataType::uint64>,
    run<DataType::float16>,  run<DataType::float32>,    run<DataType::float64>,
    run<DataType::bfloat16>, run<DataType::float8e4m3>, run<DataType::float8e5m2>};

}  // namespace

Problem find_device() {
  int count = 0;
  if (const Problem problem = problem_of(count_devices(&count))) return problem;
  return count > 0 ? nullptr : "no device";
}

Problem allocate(std::byte** memory, std::uint64_t bytes) {
  void* taken = nullptr;
  const Problem problem = problem_of(take(&taken, bytes));
  *memory = static_cast<std::byte*>(taken);
  return problem;
}

Problem upload(std::byte* device, const std::byte* host, std::uint64_t bytes) {
  return problem_of(move(device, host, bytes));
}

Problem download(std::byte* host, const std::byte* device, std::uint64_t bytes) {
  return problem_of(move(host, device, bytes));
}

void release(std::byte* memory) { static_cast<void>(give_back(memory)); }

Problem fold_on_device(const device::FoldTask& task, DataType type, bool copy) {
  device::FoldTask given = task;
  given.folds = !copy;
  kKernels[static_cast<int>(type)]<<<1, device::kThreads>>>(given);
  return problem_of(wait());
}

}  // namespace gyre::device_test
