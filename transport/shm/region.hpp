// Memory that peers can map: what ncclMemAlloc gives out, and shared memory of files that the user
// registered. One registry for the whole process.
//
// Owners and order: whatever changes the registry takes a mutex; region_find() is lock-free (a
// sequence lock over a sorted table that is never deallocated while the process runs), because it
// sits on the path of every large slice. Ids only grow and are never used again.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace gyre {

struct RegionRef {
  std::uint64_t id = 0;      // never 0
  std::uint64_t offset = 0;  // of the address asked for
  std::uint64_t bytes = 0;   // of the whole region, from the page in which it begins
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

// Registered memory is a region as long as somebody holds it.
class RegionHold {
 public:
  RegionHold() = default;
  explicit RegionHold(std::uint64_t id) : id_(id) {}
  RegionHold(RegionHold&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
  RegionHold& operator=(RegionHold&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~RegionHold();
  explicit operator bool() const { return id_ != 0; }

 private:
  std::uint64_t id_ = 0;
};

// Makes memory that lies in shared mappings of a file a region: nothing is copied or mapped anew
// here. Empty for other memory, and where there is no descriptor of the file to hand over
// (base/memory_file.hpp): such memory travels as before. Memory of region_alloc() needs no hold.
//
// The memory stays mapped where it is until the hold ends. Of regions that were left in the table
// although it does not, those that this one touches are given up. Any thread.
RegionHold region_hold(const void* data, std::uint64_t bytes);

// A new descriptor of region `id` to hand to a peer, and where in the file the region begins; empty
// if it is gone. Any thread.
struct RegionFile {
  Fd file;
  std::uint64_t offset = 0;
};
RegionFile region_file(std::uint64_t id);

// When peers are told that a region is gone: memory that was freed is in no call any more;
// of memory that is no longer held, calls that run may still have slots under way.
enum class RegionEnd : std::uint8_t { at_once, between_calls };

// Calls `gone(id, when)` on the thread that ends a region, until the watch is destroyed; afterwards
// the function is neither running nor ever called again.
class RegionWatch {
 public:
  using Gone = std::function<void(std::uint64_t id, RegionEnd when)>;
  explicit RegionWatch(Gone gone);
  ~RegionWatch();
  RegionWatch(const RegionWatch&) = delete;
  RegionWatch& operator=(const RegionWatch&) = delete;

 private:
  std::uint64_t key_;
};

}  // namespace gyre
