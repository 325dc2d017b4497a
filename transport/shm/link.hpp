// Both lanes of two ranks that share memory, and the ways to send large payloads by reference.
#pragma once

#include <memory>
#include <vector>

#include "transport/shm/channel.hpp"
#include "transport/shm/pairing.hpp"
#include "transport/transport.hpp"

namespace gyre::shm {

// When payloads of ordinary memory go by address (process_vm_readv).
struct ReferRules {
  bool regions = true;              // memory of ncclMemAlloc, and registered memory of files
  bool address = false;             // GYRE_CMA, and the peer has proved that it can
  bool always_address = false;      // by address also where it is not worth the system calls
  std::uint64_t region_bytes = 0;   // smallest payload sent as a part of a region
  std::uint64_t address_bytes = 0;  // smallest payload sent by address
};

class ShmLink final : public Link {
 public:
  ShmLink(int peer, Joined joined, std::shared_ptr<Channel> channel, LaneView in, ReferRules rules,
          const AbortState* abort);

  bool refer(const std::byte* data, std::uint64_t bytes, bool by_call, SlotHeader& header) override;
  bool refer_region(const std::byte* data, std::uint64_t bytes, SlotHeader& header) override;
  bool maps_regions() const override { return rules_.regions; }
  void offer(std::byte* place, std::uint64_t bytes, SlotHeader& header) override;
  std::byte* place(const SlotHeader& header, std::uint64_t bytes) override;
  const std::byte* locate(const SlotHeader& header, std::uint64_t bytes) const override;
  Result<void> fetch(const SlotHeader& header, std::uint64_t bytes, std::byte* into) override;
  Result<void> intact(const SlotHeader& header) const override;

  const std::shared_ptr<Channel>& channel() const { return channel_; }
  // Lets go of regions that are gone. Executor's thread, while no slot refers to one.
  void renew_regions() const;

 private:
  std::byte* in_region(std::uint64_t region, std::uint64_t offset, std::uint64_t bytes) const;
  std::byte* in_known_region(std::uint64_t region, std::uint64_t offset, std::uint64_t bytes) const;
  bool knows(std::uint64_t region) const;
  bool handed_over(std::uint64_t region, std::uint64_t bytes);
  Result<void> await_region(std::uint64_t region);
  Result<void> read_address(std::uint64_t address, std::uint64_t bytes, std::byte* into) const;

  int peer_;
  Joined joined_;
  std::shared_ptr<Channel> channel_;
  ReferRules rules_;
  const AbortState* abort_;
  // The executor's copy of what the channel knows, renewed when its version grows. locate() is
  // const to its callers; the copy is a cache.
  mutable RegionMap regions_;
  mutable std::uint64_t regions_version_ = 0;
  // Ids handed over, newest last; ids are never used again, so stale ones do no harm.
  std::vector<std::uint64_t> handed_over_;
};

}  // namespace gyre::shm
