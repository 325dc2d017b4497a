// What all threads of a block do together at one step: fold some operands into some places.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/work.hpp"

namespace gyre::device {

// Lies in shared memory; filled by one warp before a barrier.
struct FoldTask {
  const std::byte* sources[kMostPeers + 1];
  std::byte* targets[kMostPeers + 1];
  std::uint32_t source_count;
  std::uint32_t target_count;
  std::uint64_t elements;
  // Which packs are this block's: of every `stripes` rounds of a block over the elements, those
  // that are `stripe` modulo them. 0 and 1: all.
  std::uint32_t stripe;
  std::uint32_t stripes;
  std::uint32_t local_at;  // which source the rank itself has; source_count: none
  std::uint32_t element_bytes;
  bool folds;  // false: sources[0] is copied
  Fold fold;
};

}  // namespace gyre::device
