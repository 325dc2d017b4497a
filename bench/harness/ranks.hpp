// The ranks of this process: their devices, communicators and buffers.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "bench/harness/collective.hpp"
#include "bench/harness/device.hpp"
#include "bench/harness/layout.hpp"
#include "bench/harness/library.hpp"
#include "bench/harness/options.hpp"

namespace gyre::bench {

// Buffers come from ncclMemAlloc, which every optimization of a library accepts, unless
// --memory_kind asks for malloc's. `send` and
// `receive` begin unaligned if -u asks for it. `expected` and `staging` are host memory; staging
// is only there when the device's memory cannot be touched directly.
struct Buffers {
  void* send_base = nullptr;
  void* receive_base = nullptr;
  std::size_t bytes = 0;  // of each, without what -u adds
  void* pulse = nullptr;  // one element, for the operation that aligns the ranks before timing
  std::unique_ptr<std::byte[]> plain_send;     // owns send_base if it is malloc's
  std::unique_ptr<std::byte[]> plain_receive;  // as well
  std::unique_ptr<std::byte[]> expected;
  std::unique_ptr<std::byte[]> staging;
  void* send_handle = nullptr;            // of -R 1
  void* receive_handle = nullptr;         // of -R 1
  ncclWindow_t send_window = nullptr;     // of -R 2
  ncclWindow_t receive_window = nullptr;  // of -R 2
};

struct Rank {
  int number = 0;
  std::unique_ptr<Device> device;
  ncclComm_t comm = nullptr;
  Buffers buffers;
};

// Devices of all ranks of this process, in order. Reads NCCL_TESTS_DEVICE. Ranks share a GPU when
// there are more ranks than GPUs, if `may_share`; else that is a Failure.
std::vector<Rank> open_ranks(const Layout& layout, const Options& options, bool may_share);
std::vector<gyreDeviceInfo> infos_of(std::span<const Rank> ranks);

// Creates the communicators of these ranks as one group; with all other ranks of the communicator.
void create_communicators(const Library& library, std::span<Rank> ranks, const ncclUniqueId& id,
                          const Layout& layout, const Options& options,
                          const Collective& collective);
// Allocates and registers the buffers, each of options.max_bytes.
void create_buffers(const Library& library, std::span<Rank> ranks, const Options& options);

// In this order, after the last operation.
void deregister_buffers(const Library& library, std::span<Rank> ranks);
void destroy_communicators(const Library& library, std::span<Rank> ranks);
void free_buffers(const Library& library, std::span<Rank> ranks);

}  // namespace gyre::bench
