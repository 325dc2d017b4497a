// What a rank on a device has besides what every rank has: its lanes in device memory, the mailbox
// that it shares with its kernels, and the order of its calls across streams.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "gyre/plugin.h"
#include "kernels/device/work.hpp"
#include "plan/device_choice.hpp"
#include "transport/device/lanes.hpp"
#include "transport/device/leftovers.hpp"
#include "transport/device/mappings.hpp"

namespace gyre {

// One thread at a time, but for abort(), fault(), wait_idle(), tell_who_left(), look_for_memory().
class DeviceRank {
 public:
  DeviceRank(const gyreBackend& backend, int ordinal);
  ~DeviceRank();
  DeviceRank(const DeviceRank&) = delete;
  DeviceRank& operator=(const DeviceRank&) = delete;

  const gyreBackend& backend() const { return backend_; }
  int ordinal() const { return ordinal_; }
  const DeviceFacts& facts() const { return facts_; }
  DeviceLanes& lanes() { return *lanes_; }

  // How many channels this rank can have if so many ranks share its device, so that all their
  // kernels fit on it together; an error with the numbers if they cannot.
  Result<std::uint32_t> fitting_channels(int neighbours) const;
  // Without lanes: kernels of this rank reach no peer, and only wait for errands.
  Result<void> open_apart();
  // Makes the lanes of `rank` among `world`. All ranks have the same number of channels.
  Result<void> open(int rank, int world, std::uint32_t channels);
  // Once the lanes are connected. Calls of at least `map_bytes` map buffers of other processes.
  Result<void> ready(milliseconds timeout, std::uint64_t map_bytes);

  // Everything that a call's kernels may use of a group's streams: work enqueued between begin and
  // end runs on the first one, after what was enqueued on any of them and after this rank's earlier
  // calls; what is enqueued on any of them later comes after it.
  Result<void> begin(std::span<const gyreStream_t> streams);
  Result<void> end(std::span<const gyreStream_t> streams);
  // Whether what is enqueued between them becomes part of a graph.
  bool is_captured() const { return capturing_ != 0; }

  // Enqueues one kernel. `launch.rank` is filled here. Does not wait.
  Result<void> launch(std::uint32_t kernel, device::Launch& launch, std::uint32_t threads,
                      gyreStream_t stream);

  // Pinned memory of at least so many bytes for the kernel launched next, which reads it.
  Result<std::byte*> staging(std::size_t bytes);
  // The kernel that reads it is enqueued.
  Result<void> staged(gyreStream_t stream);

  // Device memory for work on the stream until released there.
  Result<std::byte*> temporary(std::size_t bytes, gyreStream_t stream);
  Result<void> release(std::byte* memory, gyreStream_t stream);
  Result<void> copy(std::byte* to, const std::byte* from, std::size_t bytes, gyreStream_t stream);
  // What peers are told of a buffer of a call that asks (kernels/device/mapped.cuh).
  std::uint64_t offer(const void* buffer, std::uint64_t bytes);
  // Lets peers' memory be mapped that kernels have met. Does not wait.
  void look_for_memory();
  // An error if kernels cannot reach the buffer.
  Result<void> check_buffer(const void* buffer, std::string_view what) const;

  // Whether it is host memory, which the vendors' copies to other host memory would wait for.
  bool is_on_host(const void* buffer) const;

  // Makes every wait of this rank's kernels end.
  void abort() const;
  // That these ranks, a bit each, have destroyed their communicators: no wait for one of them that
  // is not over will be.
  void tell_who_left(std::uint64_t ranks) const;
  // A kernel does not leave: what it uses is given back when it has.
  void abandon();
  // Whether there is nothing that kernels use: not yet, or no longer.
  bool is_bare() const { return mailbox_.data() == nullptr; }
  // What a kernel found wrong, once one did.
  std::optional<device::Mailbox> fault() const;
  // Whether every enqueued call has run, at the latest at the deadline.
  bool wait_idle(Deadline deadline) const;

 private:
  // Pinned memory that kernels read; free once its event has passed. Of a captured graph: never.
  struct Staging {
    DeviceMemory memory;
    std::size_t bytes = 0;
    gyreEvent_t event = nullptr;
    bool captured = false;
    bool used = false;
  };
  Result<void> prepare();
  Error failed(std::string_view what) const;
  Result<gyreEvent_t> make_event();
  Result<std::uint64_t> identity_of(gyreStream_t stream) const;
  Result<std::uint64_t> capture_of(std::span<const gyreStream_t> streams) const;
  Result<void> follow(gyreEvent_t event, gyreStream_t earlier, gyreStream_t later);

  const gyreBackend& backend_;
  const int ordinal_;
  DeviceFacts facts_;
  std::unique_ptr<Leftovers::Watch> watch_;  // of this rank's kernels
  std::unique_ptr<DeviceLanes> lanes_;
  std::unique_ptr<DeviceMappings> mappings_;  // null: all ranks are in this process
  DeviceMemory mailbox_;
  device::Rank view_;
  device::Inboxes inboxes_;
  std::vector<gyreEvent_t> events_;  // all, to be destroyed

  gyreEvent_t latest_ = nullptr;  // after the latest call, unless that was captured
  std::uint64_t latest_stream_ = 0;
  bool any_call_ = false;
  gyreEvent_t captured_ = nullptr;  // after the latest call of the capture at work
  std::uint64_t captured_stream_ = 0;
  std::uint64_t capture_ = 0;       // of the latest captured call
  std::uint64_t capturing_ = 0;     // of the call between begin() and end(); 0: none
  std::uint64_t runner_ = 0;        // the identity of the stream that this one runs on
  gyreEvent_t junction_ = nullptr;  // where several streams meet

  std::vector<Staging> staging_;
  std::size_t staging_at_ = 0;
};

}  // namespace gyre
