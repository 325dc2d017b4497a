// A region of a peer, mapped here.
#pragma once

#include <cstdint>

#include "base/fault_guard.hpp"
#include "base/memory.hpp"

namespace gyre::shm {

class PeerMemory {
 public:
  // `bytes` of a file from `offset` on. One that can shrink under its readers (any but a segment
  // sealed against that) is guarded. Errors: no regular file, one that ends before, or the
  // kernel's.
  static Result<PeerMemory> map(const Fd& file, std::uint64_t offset, std::uint64_t bytes);

  std::byte* data() const { return memory_.data(); }
  std::size_t size() const { return memory_.size(); }
  // Whether the file was cut short, and what was read here may not be the peer's.
  bool broken() const { return guard_.broken(); }

 private:
  Mapping memory_;
  FaultGuard guard_;  // goes before the memory
};

}  // namespace gyre::shm
