// How the threads of a block reach the elements of a fold: in packs of 16 bytes, which is what a
// thread loads and stores at once, and one by one where no pack fits.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/device/fold_task.hpp"
#include "kernels/device/portable.cuh"

namespace gyre::device {

inline constexpr std::uint32_t kPackBytes = 16;
// Neighbouring threads take neighbouring packs: one round of a block.
inline constexpr std::uint32_t kStride = kThreads * kPackBytes;

struct Pack {
  std::uint32_t words[4] = {};
};

// Element `index` of a pack. Constant indices only: then a pack stays in registers.
template <class Code>
__device__ __forceinline__ Code element_of(const Pack& pack, int index) {
  if constexpr (sizeof(Code) == 8) {
    return static_cast<std::uint64_t>(pack.words[2 * index + 1]) << 32 | pack.words[2 * index];
  } else {
    constexpr int kPerWord = 4 / sizeof(Code);
    return static_cast<Code>(pack.words[index / kPerWord] >>
                             (8 * sizeof(Code) * (index % kPerWord)));
  }
}

// Fills element `index`, which must still be zero.
template <class Code>
__device__ __forceinline__ void put_element(Pack& pack, int index, Code code) {
  if constexpr (sizeof(Code) == 8) {
    pack.words[2 * index] = static_cast<std::uint32_t>(code);
    pack.words[2 * index + 1] = static_cast<std::uint32_t>(code >> 32);
  } else {
    constexpr int kPerWord = 4 / sizeof(Code);
    pack.words[index / kPerWord] |= static_cast<std::uint32_t>(code)
                                    << (8 * sizeof(Code) * (index % kPerWord));
  }
}

__device__ __forceinline__ std::uintptr_t address_of(const std::byte* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer);
}

// A pack on a boundary of `Piece`, in pieces of that size.
template <class Piece>
__device__ __forceinline__ Pack load_pack(const std::byte* from) {
  Pack pack;
  if constexpr (sizeof(Piece) == kPackBytes) {
    const uint4 words = *global(reinterpret_cast<const uint4*>(from));
    pack.words[0] = words.x;
    pack.words[1] = words.y;
    pack.words[2] = words.z;
    pack.words[3] = words.w;
  } else {
    const Piece* pieces = global(reinterpret_cast<const Piece*>(from));
    constexpr int kPieces = kPackBytes / sizeof(Piece);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) put_element<Piece>(pack, i, pieces[i]);
  }
  return pack;
}

template <class Piece>
__device__ __forceinline__ void store_pack(std::byte* to, const Pack& pack) {
  if constexpr (sizeof(Piece) == kPackBytes) {
    *global(reinterpret_cast<uint4*>(to)) =
        make_uint4(pack.words[0], pack.words[1], pack.words[2], pack.words[3]);
  } else {
    Piece* pieces = global(reinterpret_cast<Piece*>(to));
    constexpr int kPieces = kPackBytes / sizeof(Piece);
#pragma unroll
    for (int i = 0; i < kPieces; ++i) pieces[i] = element_of<Piece>(pack, i);
  }
}

// The packs that one thread works on at the same time: those of kPacks, `stride` apart, that begin
// before `end`. Without a variant for rounds in which all of them do there is half the code, and
// the comparisons hide behind the loads.
template <int kPacks>
struct Window {
  std::uint64_t at;  // all offsets are in bytes
  std::uint64_t end;
  std::uint64_t stride;

  __device__ __forceinline__ std::uint64_t offset(int pack) const {
    return at + static_cast<std::uint64_t>(pack) * stride;
  }
  __device__ __forceinline__ bool holds(int pack) const { return offset(pack) < end; }

  template <class Piece>
  __device__ __forceinline__ void load_as(const std::byte* from, Pack (&packs)[kPacks]) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      if (holds(i)) packs[i] = load_pack<Piece>(from + offset(i));
    }
  }

  template <class Piece>
  __device__ __forceinline__ void store_as(std::byte* to, const Pack (&packs)[kPacks]) const {
#pragma unroll
    for (int i = 0; i < kPacks; ++i) {
      if (holds(i)) store_pack<Piece>(to + offset(i), packs[i]);
    }
  }

  // Without kAligned the pieces are as large as the pointer's alignment allows: the branches are
  // the same for the whole block, and the first-level cache gathers the pieces of a line.
  template <bool kAligned>
  __device__ __forceinline__ void load(const std::byte* from, Pack (&packs)[kPacks]) const {
    const std::uintptr_t address = kAligned ? 0 : address_of(from + at);
    if (address % 16 == 0) {
      load_as<uint4>(from, packs);
    } else if (address % 8 == 0) {
      load_as<std::uint64_t>(from, packs);
    } else if (address % 4 == 0) {
      load_as<std::uint32_t>(from, packs);
    } else if (address % 2 == 0) {
      load_as<std::uint16_t>(from, packs);
    } else {
      load_as<std::uint8_t>(from, packs);
    }
  }

  template <bool kAligned>
  __device__ __forceinline__ void store(std::byte* to, const Pack (&packs)[kPacks]) const {
    const std::uintptr_t address = kAligned ? 0 : address_of(to + at);
    if (address % 16 == 0) {
      store_as<uint4>(to, packs);
    } else if (address % 8 == 0) {
      store_as<std::uint64_t>(to, packs);
    } else if (address % 4 == 0) {
      store_as<std::uint32_t>(to, packs);
    } else if (address % 2 == 0) {
      store_as<std::uint16_t>(to, packs);
    } else {
      store_as<std::uint8_t>(to, packs);
    }
  }
};

// One element at any address.
template <class Code>
__device__ __forceinline__ Code load_element(const std::byte* from) {
  if (address_of(from) % sizeof(Code) == 0) return *global(reinterpret_cast<const Code*>(from));
  Code code = 0;
  const auto* bytes = global(reinterpret_cast<const std::uint8_t*>(from));
  for (std::uint32_t i = 0; i < sizeof(Code); ++i) {
    code = static_cast<Code>(code | static_cast<Code>(bytes[i]) << (8 * i));
  }
  return code;
}

template <class Code>
__device__ __forceinline__ void store_element(std::byte* to, Code code) {
  if (address_of(to) % sizeof(Code) == 0) {
    *global(reinterpret_cast<Code*>(to)) = code;
    return;
  }
  auto* bytes = global(reinterpret_cast<std::uint8_t*>(to));
  for (std::uint32_t i = 0; i < sizeof(Code); ++i) {
    bytes[i] = static_cast<std::uint8_t>(code >> (8 * i));
  }
}

// Where a thread's packs of a task begin, after `head` bytes, and how far apart they are.
__device__ __forceinline__ std::uint64_t first_pack(const FoldTask& task, std::uint64_t head) {
  return head + std::uint64_t{task.stripe} * kStride + threadIdx.x * kPackBytes;
}
__device__ __forceinline__ std::uint64_t pack_stride(const FoldTask& task) {
  return std::uint64_t{task.stripes} * kStride;
}

// A task's bytes: whole packs, and at both ends the elements that fill none.
struct Split {
  std::uint64_t head = 0;  // before the first pack
  std::uint64_t packs = 0;
  std::uint64_t bytes = 0;
  bool aligned = false;  // every pointer's packs lie on boundaries of 16 bytes

  __device__ __forceinline__ std::uint64_t end_of_packs() const {
    return head + packs * kPackBytes;
  }

  // The element of `element_bytes` outside the packs that this thread takes; bytes: none. There
  // are fewer than 32. The last threads take them, which have less to do in a round of packs that
  // is not full.
  __device__ __forceinline__ std::uint64_t lone_element(const FoldTask& task,
                                                        std::uint32_t element_bytes) const {
    if (task.stripe != 0) return bytes;
    const std::uint64_t at = (kThreads - 1 - threadIdx.x) * element_bytes;
    if (at >= bytes - packs * kPackBytes) return bytes;
    return at < head ? at : at + packs * kPackBytes;
  }
};

// Packs begin at a boundary of the first target. Where that is impossible, or others lie
// differently, they are accessed in pieces. No element of `element_bytes` is cut in two.
//
// Blocks that share a task must share every task of the strand alike, on all ranks: what a block
// reads in one step it, or its like on a peer, has written in an earlier one, and nobody else says
// that it is there. So their packs begin where the chunk does, wherever that lies.
__device__ __forceinline__ Split split(const FoldTask& task, std::uint64_t bytes,
                                       std::uint32_t element_bytes) {
  const std::uintptr_t first = address_of(task.targets[0]);
  std::uintptr_t differing = 0;
#pragma unroll 1
  for (std::uint32_t i = 0; i < task.source_count; ++i) {
    differing |= address_of(task.sources[i]) ^ first;
  }
#pragma unroll 1
  for (std::uint32_t i = 1; i < task.target_count; ++i) {
    differing |= address_of(task.targets[i]) ^ first;
  }
  Split result;
  result.bytes = bytes;
  result.head = (0 - first) % kPackBytes;
  if (result.head % element_bytes != 0 || task.stripes != 1) result.head = 0;
  if (result.head > result.bytes) result.head = result.bytes;
  result.packs = (result.bytes - result.head) / kPackBytes;
  result.aligned = differing % kPackBytes == 0 && (first + result.head) % kPackBytes == 0;
  return result;
}

}  // namespace gyre::device
