// Memory that peers can map: what ncclMemAlloc gives out. One registry for the whole process.
//
// Owners and order: allocation and freeing take a mutex; region_find() is lock-free (a sequence
// lock over a sorted table that is never deallocated while the process runs), because it sits on
// the path of every large slice. Ids only grow and are never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace gyre {

struct RegionRef {
  std::uint64_t id = 0;      // never 0
  std::uint64_t offset = 0;  // of the address asked for
  std::uint64_t bytes = 0;   // of the whole region
};

// Zeroed memory of at least `bytes`, page-aligned (huge pages advised). Falls back to private
// memory, which works everywhere but cannot be mapped by peers, when the kernel refuses a segment.
// Any thread. Error: out of memory.
Result<void*> region_alloc(std::size_t bytes);

// Frees what region_alloc() gave; null is allowed. Peers are told to unmap it. Any thread.
// Error: an address that region_alloc() did not give (invalid_argument).
Result<void> region_free(void* address);

// Gives up what region_alloc() gave without taking it from peers that were handed it: they keep it,
// bytes and all, until they let go of it themselves. Any thread.
void region_leave(void* address);

// The region that holds all of [data, data + bytes), if peers can map it. Any thread, lock-free.
std::optional<RegionRef> region_find(const void* data, std::uint64_t bytes);

// A new descriptor of region `id` to hand to a peer; empty if it was freed meanwhile. Any thread.
Fd region_descriptor(std::uint64_t id);

// Calls `freed(id)` on the freeing thread whenever a region is freed, until the watch is destroyed;
// afterwards the function is neither running nor ever called again.
class RegionWatch {
 public:
  explicit RegionWatch(std::function<void(std::uint64_t id)> freed);
  ~RegionWatch();
  RegionWatch(const RegionWatch&) = delete;
  RegionWatch& operator=(const RegionWatch&) = delete;

 private:
  std::uint64_t key_;
};

}  // namespace gyre
