// Copies by one block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/access.cuh"
#include "kernels/device/fold_task.hpp"

namespace gyre::device {

// Skips targets that are the source.
template <int kPacks, bool kAligned>
__device__ __forceinline__ void copy_packs(const FoldTask& task, std::uint64_t at,
                                           std::uint64_t end) {
  const std::byte* source = task.sources[0];
#pragma unroll 1
  for (const std::uint64_t stride = pack_stride(task); at < end; at += kPacks * stride) {
    const Window<kPacks> window{at, end, stride};
    Pack packs[kPacks];
    window.template load<kAligned>(source, packs);
#pragma unroll 1
    for (std::uint32_t i = 0; i < task.target_count; ++i) {
      std::byte* target = task.targets[i];
      if (target != source) window.template store<kAligned>(target, packs);
    }
  }
}

// Copies elements * element_bytes bytes from the first source to all targets; a target that is the
// source is left alone. Otherwise as fold_block.
__device__ __forceinline__ void copy_block(const FoldTask& task) {
  const std::byte* source = task.sources[0];
  std::uint32_t others = 0;
#pragma unroll 1
  for (std::uint32_t i = 0; i < task.target_count; ++i) others += task.targets[i] != source;
  if (others == 0) return;

  const Split parts = split(task, task.elements * task.element_bytes, 1);
  const std::uint64_t lone = parts.lone_element(task, 1);
  if (lone < parts.bytes) {
    const auto byte = load_element<std::uint8_t>(source + lone);
#pragma unroll 1
    for (std::uint32_t i = 0; i < task.target_count; ++i) {
      if (task.targets[i] != source) store_element<std::uint8_t>(task.targets[i] + lone, byte);
    }
  }
  const std::uint64_t at = first_pack(task, parts.head);
  if (parts.aligned) {
    copy_packs<8, true>(task, at, parts.end_of_packs());
  } else {
    copy_packs<2, false>(task, at, parts.end_of_packs());
  }
}

}  // namespace gyre::device
