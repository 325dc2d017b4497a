// Users' buffers across processes: who owns an allocation lets the others map it, so that kernels
// work on it where it lies (kernels/device/mapped.cuh). No call ever waits for that: the first ones
// on a new allocation go through slots.
//
// An allocation that a call uses is posted on the rank's board, with the name that IPC gives it. A
// rank whose kernel met an allocation that it has not mapped looks it up on the owner's board, maps
// it and writes it into its kernels' table. The boards are device memory, beside the lanes.
//
// Memory that its user frees stays taken until the other processes have closed it: the owner sees
// that within 0.1 s and takes its posting down; the others see that within 0.1 s more, and close it
// once no call is at work (leftovers.hpp). A captured graph's buffers must live as long as it does.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "gyre/plugin.h"
#include "kernels/device/work.hpp"
#include "transport/device/board.hpp"
#include "transport/device/lanes.hpp"

namespace gyre {

class DeviceMappings {
 public:
  // The lanes are connected, and outlive it. Starts a thread, since naming and mapping memory takes
  // the vendors' calls fractions of a millisecond.
  static Result<std::unique_ptr<DeviceMappings>> create(const DeviceLanes& lanes);
  // Kernels have ended.
  ~DeviceMappings();
  DeviceMappings(const DeviceMappings&) = delete;
  DeviceMappings& operator=(const DeviceMappings&) = delete;

  void describe(device::Rank& rank) const;

  // The number of the allocation that holds all of a buffer, as kernels tell peers; posts it soon.
  // One thread at a time. Allocates where an allocation is new.
  std::uint64_t offer(const void* buffer, std::uint64_t bytes);

  // Wakes the thread if kernels met memory that is not mapped. From any thread.
  void look();

 private:
  // Memory of a peer, mapped.
  struct Mapped {
    int peer = 0;
    device::Mapping mapping;
    std::size_t place = 0;  // in the peer's row of the table
    void* pointer = nullptr;
  };
  // What could not be mapped, by its allocation: perhaps because it lies where memory did that is
  // mapped still, which is closed soon.
  struct Refusal {
    int attempts = 0;
    Deadline again = Deadline::never();
  };
  // What is known of a peer.
  struct Peer {
    std::uint64_t edition = 0;  // of its board, when last read
    std::unordered_map<std::uint64_t, Refusal> refused;
  };

  explicit DeviceMappings(const DeviceLanes& lanes);
  void run(const std::stop_token& stop);
  void work(bool looks_back);
  void post_new();
  bool post(const gyrePointerInfo& info);
  void take_down_old();
  void map_missed();
  Result<void> map(int peer, std::uint64_t allocation);
  void close_old();
  bool read_board(int peer);
  bool is_mapped(int peer, std::uint64_t allocation) const;
  void refuse(int peer, std::uint64_t allocation, const Error& why);
  std::size_t free_place(int peer, std::uint64_t allocation) const;
  Result<void> write_mapping(int peer, std::size_t place, const device::Mapping& mapping) const;

  const DeviceLanes& lanes_;
  DeviceMemory missed_;

  // Of the thread.
  Board own_;
  std::vector<gyrePointerInfo> unposted_;  // for which there is no place yet
  std::unique_ptr<Board> theirs_;          // the one read last
  std::vector<Mapped> mapped_;
  std::vector<Peer> peers_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any wake_;
  std::unordered_set<std::uint64_t> offered_;   // allocations
  std::unordered_set<std::uint64_t> nameless_;  // that IPC has no name for
  std::vector<gyrePointerInfo> new_;
  bool missing_ = false;

  std::jthread thread_;  // last: it ends before what it works on
};

}  // namespace gyre
