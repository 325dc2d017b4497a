#include "bench/harness/ranks.hpp"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <limits>
#include <string>

#include "bench/harness/failure.hpp"

namespace gyre::bench {
namespace {

constexpr std::size_t kLargestElement = 8;

int first_ordinal(const Layout& layout) {
  const char* text = std::getenv("NCCL_TESTS_DEVICE");
  if (text == nullptr) return layout.local_process * layout.ranks_here();
  char* end = nullptr;
  const long value = std::strtol(text, &end, 10);
  if (*text == '\0' || *end != '\0' || value < 0 || value > std::numeric_limits<int>::max() / 2) {
    throw Failure(ExitCode::usage,
                  fmt::format("NCCL_TESTS_DEVICE: '{}' is not a device number", text));
  }
  return static_cast<int>(value);
}

gyreDeviceKind kind_of(const Options& options) {
  gyreDeviceKind kind = gyreDeviceAuto;
  if (!options.device.empty()) {
    check_device(gyreDeviceKindParse(options.device.c_str(), &kind), "gyreDeviceKindParse");
  }
  return kind;
}

std::unique_ptr<std::byte[]> host_memory(std::size_t bytes) {
  return std::make_unique_for_overwrite<std::byte[]>(bytes);
}

// A GPU may set up a stream at its first use only once all kernels have left. Those of ranks that
// share it do not leave before the peer whose stream that is (H200: one start in four with 8
// threads).
void use_once(const Device& device, void* memory) {
  constexpr std::uint32_t kZero = 0;
  device.copy_async(memory, &kZero, sizeof kZero);
  device.synchronize();
}

void allocate(const Library& library, Rank& rank, const Options& options) {
  Buffers& buffers = rank.buffers;
  buffers.bytes = options.max_bytes;
  const std::size_t padded = options.max_bytes + kLargestElement * options.unalign + 16;
  rank.device->select();
  if (options.memory == Memory::plain) {
    if (!rank.device->is_host()) {
      throw Failure(ExitCode::unsupported, "--memory_kind plain: only host ranks can use it");
    }
    buffers.plain_send = host_memory(padded);
    buffers.plain_receive = host_memory(padded);
    buffers.send_base = buffers.plain_send.get();
    buffers.receive_base = buffers.plain_receive.get();
  } else {
    library.check(library.mem_alloc(&buffers.send_base, padded), "ncclMemAlloc");
    library.check(library.mem_alloc(&buffers.receive_base, padded), "ncclMemAlloc");
  }
  library.check(library.mem_alloc(&buffers.pulse, kLargestElement), "ncclMemAlloc");
  use_once(*rank.device, buffers.pulse);
  if (options.check == 0) return;
  buffers.expected = host_memory(options.max_bytes);
  if (!rank.device->is_host()) buffers.staging = host_memory(options.max_bytes);
}

void register_locally(const Library& library, Rank& rank) {
  Buffers& b = rank.buffers;
  library.check(library.register_buffer(rank.comm, b.send_base, b.bytes, &b.send_handle),
                "ncclCommRegister");
  library.check(library.register_buffer(rank.comm, b.receive_base, b.bytes, &b.receive_handle),
                "ncclCommRegister");
}

void register_windows(const Library& library, Rank& rank) {
  Buffers& b = rank.buffers;
  library.check(library.window_register(rank.comm, b.send_base, b.bytes, &b.send_window,
                                        NCCL_WIN_COLL_SYMMETRIC),
                "ncclCommWindowRegister");
  library.check(library.window_register(rank.comm, b.receive_base, b.bytes, &b.receive_window,
                                        NCCL_WIN_COLL_SYMMETRIC),
                "ncclCommWindowRegister");
}

void check_registration(const Library& library, Registration registration) {
  const bool missing =
      (registration == Registration::local && library.register_buffer == nullptr) ||
      (registration == Registration::window && library.window_register == nullptr);
  if (missing) {
    throw Failure(ExitCode::unsupported, fmt::format("-R {}: {} has no such registration",
                                                     static_cast<int>(registration), library.path));
  }
}

}  // namespace

std::vector<Rank> open_ranks(const Layout& layout, const Options& options, bool may_share) {
  const gyreDeviceKind kind = kind_of(options);
  int devices = 0;
  check_device(gyreDeviceCount(kind, &devices), "gyreDeviceCount");
  const bool host = Device(kind, 0, true).is_host();
  const int first = first_ordinal(layout);
  const int needed = first + layout.ranks_here();
  if (!host && !may_share && needed > devices) {
    throw Failure(ExitCode::unsupported,
                  fmt::format("Invalid number of GPUs: {} requested but only {} were found. Please "
                              "check the number of processes and GPUs per process.",
                              needed, devices));
  }
  std::vector<Rank> ranks(static_cast<std::size_t>(layout.ranks_here()));
  for (int i = 0; i < layout.ranks_here(); ++i) {
    Rank& rank = ranks[static_cast<std::size_t>(i)];
    rank.number = layout.rank(0, i);
    const int ordinal = host ? first + i : (first + i) % devices;
    rank.device = std::make_unique<Device>(kind, ordinal, options.null_stream);
  }
  return ranks;
}

std::vector<gyreDeviceInfo> infos_of(std::span<const Rank> ranks) {
  std::vector<gyreDeviceInfo> infos;
  for (const Rank& rank : ranks) infos.push_back(rank.device->info());
  return infos;
}

void create_communicators(const Library& library, std::span<Rank> ranks, const ncclUniqueId& id,
                          const Layout& layout, const Options& options,
                          const Collective& collective) {
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  if (options.cta_policy >= 0) config.CTAPolicy = options.cta_policy;
  if (library.version >= NCCL_VERSION(2, 28, 0)) config.nvlinkCentricSched = 1;
  collective.configure(config);
  GroupScope group(library, true);
  for (Rank& rank : ranks) {
    rank.device->select();
    library.check(library.init_rank_config(&rank.comm, layout.ranks(), id, rank.number, &config),
                  "ncclCommInitRankConfig");
  }
  group.end();
}

void create_buffers(const Library& library, std::span<Rank> ranks, const Options& options) {
  check_registration(library, options.registration);
  for (Rank& rank : ranks) allocate(library, rank, options);
  if (options.registration == Registration::none) return;
  GroupScope group(library, true);
  for (Rank& rank : ranks) {
    rank.device->select();
    if (options.registration == Registration::local) {
      register_locally(library, rank);
    } else {
      register_windows(library, rank);
    }
  }
  group.end();
}

void deregister_buffers(const Library& library, std::span<Rank> ranks) {
  for (Rank& rank : ranks) {
    Buffers& b = rank.buffers;
    for (void* handle : {b.send_handle, b.receive_handle}) {
      if (handle == nullptr) continue;
      library.check(library.deregister_buffer(rank.comm, handle), "ncclCommDeregister");
    }
    for (ncclWindow_t window : {b.send_window, b.receive_window}) {
      if (window == nullptr) continue;
      library.check(library.window_deregister(rank.comm, window), "ncclCommWindowDeregister");
    }
  }
}

void destroy_communicators(const Library& library, std::span<Rank> ranks) {
  for (Rank& rank : ranks) {
    library.check(library.destroy(rank.comm), "ncclCommDestroy");
    rank.comm = nullptr;
  }
}

void free_buffers(const Library& library, std::span<Rank> ranks) {
  for (Rank& rank : ranks) {
    if (rank.buffers.plain_send == nullptr) {
      library.check(library.mem_free(rank.buffers.send_base), "ncclMemFree");
      library.check(library.mem_free(rank.buffers.receive_base), "ncclMemFree");
    }
    library.check(library.mem_free(rank.buffers.pulse), "ncclMemFree");
    rank.buffers = {};
  }
}

}  // namespace gyre::bench
