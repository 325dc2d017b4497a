// From programs to steps with addresses. A single thread takes microseconds for a step, so each
// thread of a warp decodes one of the next 32.
#pragma once

#include "kernels/device/block.cuh"

namespace gyre::device {

__device__ inline Extent extent_of(const Work& work, Side side, std::uint64_t tile,
                                   std::uint64_t chunk) {
  if (side == Side::input) return work.input_layout.extent(tile, chunk);
  if (side == Side::output) return work.output_layout.extent(tile, chunk);
  // A scratch chunk is as long as the chunk of the input that it is made of.
  const Layout& like = work.input_layout;
  return {chunk * like.slice, like.extent(tile, like.has_even_tiles() ? 0 : chunk).count};
}

__device__ inline std::byte* memory_of(const Block& block, Side side) {
  const Work& work = block.work;
  if (side == Side::output) return work.output;
  if (side == Side::input) return const_cast<std::byte*>(work.input);  // only read, as any source
  const std::uint64_t elements = block.program.scratch_chunks * work.input_layout.slice;
  return work.scratch + block.channel * elements * work.element_bytes;
}

// Where the i-th chunk of one side of a step lies.
__device__ inline Piece piece_of(const Block& block, Side side, std::int32_t first,
                                 std::uint32_t stride, std::uint32_t i, std::uint64_t tile) {
  const std::uint32_t chunk = i == 0 ? static_cast<std::uint32_t>(first)
                                     : chunk_at(first, stride, i, chunks_of(block.program, side));
  const Extent at = extent_of(block.work, side, tile, chunk);
  return {memory_of(block, side) + at.offset * block.work.element_bytes, at.count};
}

__device__ inline Piece source_of(const Block& block, const ResolvedStep& step, std::uint32_t i,
                                  std::uint64_t tile) {
  return piece_of(block, step.source_side, step.source, step.source_stride, i, tile);
}

__device__ inline Piece target_of(const Block& block, const ResolvedStep& step, std::uint32_t i,
                                  std::uint64_t tile) {
  return piece_of(block, step.target_side, step.target, step.target_stride, i, tile);
}

// How many operands stand before the local one: those of lower ranks where the range covers the own
// rank, else all.
__device__ inline std::uint32_t operands_before_local(const Rank& rank, const PeerRange& range,
                                                      std::uint32_t senders) {
  if (!range.covers(rank.rank, rank.world)) return senders;
  std::uint32_t before = 0;
  for (const std::uint32_t peer : peers_of(range, rank.rank, rank.world)) {
    before += peer < rank.rank ? 1 : 0;
  }
  return before;
}

__device__ inline bool needs_fold(const Work& work, const DecodedStep& step) {
  if (!work.reducing) return false;
  return step.sources > 1 || (step.scales && work.fold.op == ReduceOp::premulsum) ||
         (step.step.finish && work.fold.op == ReduceOp::avg);
}

// Where the step's value stays unchanged until the end of the call, so that a peer may read it
// there. What is only copied stays where it comes from, and can be read before it has been.
__device__ inline void find_lasting(const Block& block, DecodedStep& decoded) {
  const ResolvedStep& step = decoded.step;
  const bool copies = !decoded.folds && decoded.senders == 0 && step.source_side != Side::scratch;
  const bool stores = step.target != kNoChunk && step.target_side != Side::scratch;
  decoded.stays_in = copies ? step.source_side : step.target_side;
  decoded.stays = nullptr;
  if (!block.work.by_reference || step.chunks != 1) return;
  decoded.is_there = copies;
  if (copies) {
    decoded.stays = decoded.source.at;
  } else if (stores) {
    decoded.stays = decoded.target.at;
  }
}

// Everything about the step.
__device__ inline DecodedStep decode(const Block& block, const ResolvedStep& step) {
  DecodedStep decoded{};
  decoded.step = step;
  const Rank& rank = block.rank;
  const Work& work = block.work;
  // The channel's tiles are every so manieth of the call's, unless all channels share them.
  decoded.tile = work.striped ? step.tile : step.tile * work.channels + block.channel;
  decoded.senders = peers_of(step.receive, rank.rank, rank.world).size();
  decoded.receivers = peers_of(step.send, rank.rank, rank.world).size();
  const bool local = step.source != kNoChunk;
  if (local) decoded.source = source_of(block, step, 0, decoded.tile);
  if (step.target != kNoChunk) decoded.target = target_of(block, step, 0, decoded.tile);
  std::uint64_t elements = (local ? decoded.source : decoded.target).elements;
  for (std::uint32_t i = 1; i < step.chunks; ++i) {
    elements +=
        (local ? source_of(block, step, i, decoded.tile) : target_of(block, step, i, decoded.tile))
            .elements;
  }
  decoded.bytes = elements * work.element_bytes;
  decoded.sources = decoded.senders + (local ? 1 : 0);
  decoded.local_at =
      local ? operands_before_local(rank, step.receive, decoded.senders) : decoded.sources;
  decoded.scales = local && step.source_side == Side::input;
  decoded.folds = needs_fold(work, decoded);
  decoded.answers = decoded.folds && step.send.first == step.receive.first &&
                    step.send.count == step.receive.count &&
                    step.send.stride == step.receive.stride;
  find_lasting(block, decoded);
  decoded.offer = nullptr;
  if (step.offer != kNoChunk) {
    decoded.offer = piece_of(block, Side::output, step.offer, 1, 0, decoded.tile).at;
  }
  return decoded;
}

// Decodes the next steps. The first warp.
static __device__ __noinline__ void decode_ahead(Block& any) {
  Block& block = *shared(&any);
  Cursor cursor = block.cursor;
  for (std::uint32_t i = 0; i < threadIdx.x && !cursor.done(); ++i) cursor.next();
  __syncwarp();
  const bool there = !cursor.done();
  if (there) {
    // Made in registers: every store to the block would let the next load from it wait.
    block.ahead[threadIdx.x] = decode(block, cursor.current());
    cursor.next();
    // The last one that has a step says how many there are.
    if (threadIdx.x == kWarp - 1 || cursor.done()) {
      block.cursor = cursor;
      block.ahead_count = threadIdx.x + 1;
    }
  }
  if (threadIdx.x == 0) {
    block.ahead_at = 0;
    if (!there) block.ahead_count = 0;
  }
  __syncwarp();
}

}  // namespace gyre::device
