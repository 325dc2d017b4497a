#include <fmt/format.h>

#include <cstring>

#include "backend/host_backend.hpp"
#include "backend/host_stream.hpp"
#include "backend/last_error.hpp"
#include "base/contain.hpp"
#include "kernels/device/entry.hpp"
#include "kernels/device/work.hpp"
#include "tests/emulated/entries.hpp"
#include "tests/emulated/grid.hpp"

namespace gyre::emulated {
namespace {

const gyreBackend& host() { return *host_backend(); }

bool is_special(gyreStream_t stream) { return reinterpret_cast<std::uintptr_t>(stream) <= 2; }

using Kernel = void (*)(device::Launch);

// A kernel and its argument, as they wait in the stream.
struct Start {
  Kernel kernel = nullptr;
  std::uint32_t blocks = 0;
  device::Launch argument;

  static void run_thread(const void* start) {
    const auto& one = *static_cast<const Start*>(start);
    one.kernel(one.argument);
  }
};

}  // namespace

gyreStream_t real(gyreStream_t stream) noexcept {
  static const gyreStream_t always = [] {
    gyreStream_t made = nullptr;
    (void)host().stream_create(0, &made);
    return made;
  }();
  return is_special(stream) ? always : stream;
}

gyreResult copy_async(int ordinal, void* to, const void* from, size_t bytes,
                      gyreStream_t stream) noexcept {
  return host().copy_async(ordinal, to, from, bytes, real(stream));
}

gyreResult fill_async(int ordinal, void* to, int value, size_t bytes,
                      gyreStream_t stream) noexcept {
  return host().fill_async(ordinal, to, value, bytes, real(stream));
}

gyreResult stream_destroy(int ordinal, gyreStream_t stream) noexcept {
  return is_special(stream) ? gyreSuccess : host().stream_destroy(ordinal, stream);
}

gyreResult stream_synchronize(int ordinal, gyreStream_t stream) noexcept {
  return host().stream_synchronize(ordinal, real(stream));
}

gyreResult stream_query(int ordinal, gyreStream_t stream) noexcept {
  return host().stream_query(ordinal, real(stream));
}

gyreResult stream_wait_event(int ordinal, gyreStream_t stream, gyreEvent_t event) noexcept {
  return host().stream_wait_event(ordinal, real(stream), event);
}

gyreResult event_record(int ordinal, gyreEvent_t event, gyreStream_t stream) noexcept {
  return host().event_record(ordinal, event, real(stream));
}

gyreResult launch(int, const gyreLaunch* launch, gyreStream_t stream) noexcept {
  if (launch->kernel >= device::kKernels || launch->blocks == 0 ||
      launch->argument_bytes != sizeof(device::Launch)) {
    return device_failure(gyreErrorInvalidArgument,
                          fmt::format("kernel {} with {} blocks and {} bytes of arguments",
                                      launch->kernel, launch->blocks, launch->argument_bytes));
  }
  HostStream* const queue = HostStream::from(real(stream));
  if (queue == nullptr) return device_failure(gyreErrorInvalidArgument, "not a live stream");
  return device_result(contained("starting a kernel", [&] {
    Start start;
    start.kernel =
        reinterpret_cast<Kernel>(const_cast<void*>(device::kernel_function(launch->kernel)));
    start.blocks = launch->blocks;
    std::memcpy(static_cast<void*>(&start.argument), launch->arguments, sizeof start.argument);
    return queue->enqueue([start] { run_grid(&Start::run_thread, &start, start.blocks); });
  }));
}

}  // namespace gyre::emulated
