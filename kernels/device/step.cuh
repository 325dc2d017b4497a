// One step of a strand, as one warp prepares and publishes it: lane i of the warp serves the peers
// i, i + 32, ... of the step. In between all threads of the block move the data.
#pragma once

#include "kernels/device/waits.cuh"

namespace gyre::device {

__device__ inline Extent extent_of(const Block& block, Side side, std::uint64_t tile,
                                   std::uint64_t chunk) {
  const Work& work = block.work;
  if (side == Side::input) return work.input_layout.extent(tile, chunk);
  if (side == Side::output) return work.output_layout.extent(tile, chunk);
  // A scratch chunk is as long as the chunk of the input that it is made of.
  const Layout& like = work.input_layout;
  const bool alike = like.kind != Layout::Kind::tiled;
  return {chunk * like.slice, like.extent(tile, alike ? 0 : chunk).count};
}

__device__ inline std::byte* memory_of(const Block& block, Side side) {
  const Work& work = block.work;
  if (side == Side::output) return work.output;
  if (side == Side::input) return const_cast<std::byte*>(work.input);  // only read, as any source
  const std::uint64_t elements = block.program.scratch_chunks * work.input_layout.slice;
  return work.scratch + block.channel * elements * work.element_bytes;
}

// The tile of the call that this channel's `tile` is.
__device__ inline std::uint64_t tile_of(const Block& block, std::uint32_t channels) {
  if (block.work.striped) return block.step.tile;
  return block.step.tile * channels + block.channel;
}

// Where the step's i-th chunk of one side lies, and how long it is.
struct Piece {
  std::byte* at;
  std::uint64_t elements;
};

__device__ inline Piece piece_of(const Block& block, Side side, std::int32_t first,
                                 std::uint32_t stride, std::uint32_t i, std::uint64_t tile) {
  const std::uint32_t chunk = chunk_at(first, stride, i, chunks_of(block.program, side));
  const Extent at = extent_of(block, side, tile, chunk);
  return {memory_of(block, side) + at.offset * block.work.element_bytes, at.count};
}

__device__ inline Piece source_of(const Block& block, std::uint32_t i, std::uint64_t tile) {
  const ResolvedStep& step = block.step;
  return piece_of(block, step.source_side, step.source, step.source_stride, i, tile);
}

__device__ inline Piece target_of(const Block& block, std::uint32_t i, std::uint64_t tile) {
  const ResolvedStep& step = block.step;
  return piece_of(block, step.target_side, step.target, step.target_stride, i, tile);
}

__device__ inline std::uint64_t bytes_of_step(const Block& block, std::uint64_t tile) {
  const bool reads = block.step.source != kNoChunk;
  std::uint64_t elements = 0;
  for (std::uint32_t i = 0; i < block.step.chunks; ++i) {
    elements += (reads ? source_of(block, i, tile) : target_of(block, i, tile)).elements;
  }
  return elements * block.work.element_bytes;
}

// How many operands stand before the local one: those of lower ranks where the range covers the own
// rank, else all.
__device__ inline std::uint32_t operands_before_local(const Block& block, std::uint32_t senders) {
  const PeerRange& range = block.step.receive;
  if (!range.covers(block.rank.rank, block.rank.world)) return senders;
  std::uint32_t before = 0;
  for (const std::uint32_t peer : peers_of(range, block.rank.rank, block.rank.world)) {
    before += peer < block.rank.rank ? 1 : 0;
  }
  return before;
}

__device__ inline bool needs_fold(const Block& block, std::uint32_t operands, bool scaled) {
  const Fold& fold = block.work.fold;
  if (!block.work.reducing) return false;
  return operands > 1 || (scaled && fold.op == ReduceOp::premulsum) ||
         (block.step.finish && fold.op == ReduceOp::avg);
}

// The order of a fold, and whether it is one.
__device__ inline void prepare_fold(Block& block, std::uint32_t senders) {
  const ResolvedStep& step = block.step;
  const bool local = step.source != kNoChunk;
  const bool scaled = local && step.source_side == Side::input;
  FoldTask& task = block.task;
  task.source_count = senders + (local ? 1 : 0);
  task.element_bytes = block.work.element_bytes;
  task.fold = block.work.fold;
  task.fold.local = scaled ? static_cast<int>(operands_before_local(block, senders)) : -1;
  task.fold.finish = step.finish;
  task.folds = needs_fold(block, task.source_count, scaled);
  task.local_at = local ? operands_before_local(block, senders) : task.source_count;
}

// Takes the message at the front of the lane from the i-th sender. False: stop.
__device__ inline bool take_message(Block& block, std::uint32_t i, std::uint32_t peer) {
  const LaneView lane = block.lanes(peer).receive;
  const std::uint64_t position = block.ends(peer).received;
  if (!wait_message(block, peer, lane, position)) return false;
  const std::uint32_t index = slot_index(lane, position);
  const SlotHeader& header = lane.headers[index];
  if (header.call != block.work.tag || header.count != block.work.stamp ||
      header.bytes != block.bytes) {
    report(block, Fault::other_call, peer, &header);
    return false;
  }
  block.offered[i] = nullptr;
  switch (header.kind) {
    case SlotKind::inlined:
      block.messages[i] = header.inline_data;
      return true;
    case SlotKind::staged:
      block.messages[i] = lane.data + index * lane.slot_bytes;
      return true;
    case SlotKind::address:
      block.messages[i] = reinterpret_cast<const std::byte*>(header.location);
      block.offered[i] = reinterpret_cast<std::byte*>(header.reference.place_location);
      return true;
    case SlotKind::placed:
      block.messages[i] = nullptr;  // it lies in the target
      return true;
    default:
      report(block, Fault::bad_slot, peer, &header);
      return false;
  }
}

// Where the value stays unchanged until the end of the call, so that a peer may read it there.
__device__ inline const std::byte* lasting(const Block& block, std::uint64_t tile) {
  const ResolvedStep& step = block.step;
  if (!block.work.by_reference || step.chunks != 1) return nullptr;
  if (step.target != kNoChunk) {
    return step.target_side == Side::scratch ? nullptr : target_of(block, 0, tile).at;
  }
  if (block.task.folds || step.receive.count != 0 || step.source_side == Side::scratch) {
    return nullptr;
  }
  return source_of(block, 0, tile).at;
}

// Fills the header of the next slot to the i-th receiver, and says where the value is to be
// written. False: stop.
__device__ inline bool prepare_send(Block& block, std::uint32_t i, std::uint32_t peer,
                                    std::uint64_t tile) {
  const LaneView lane = block.lanes(peer).send;
  const std::uint64_t position = block.ends(peer).sent;
  if (!wait_credit(block, peer, lane, position)) return false;
  const ResolvedStep& step = block.step;
  const std::uint32_t index = slot_index(lane, position);
  SlotHeader& header = lane.headers[index];
  header.bytes = block.bytes;
  header.count = block.work.stamp;
  header.call = block.work.tag;
  // A result goes to where its receiver offered to have it, if that sent an operand to this step.
  const bool answers = step.send.first == step.receive.first &&
                       step.send.count == step.receive.count &&
                       step.send.stride == step.receive.stride && block.task.folds;
  std::byte* place = answers ? block.offered[i] : nullptr;
  const std::byte* stays = lasting(block, tile);
  block.slots[i] = nullptr;
  if (block.bytes <= kInlineBytes) {
    header.kind = SlotKind::inlined;
    block.slots[i] = header.inline_data;
  } else if (place != nullptr) {
    header.kind = SlotKind::placed;
    block.slots[i] = place;
  } else if (stays != nullptr && block.rank.refers[peer] != 0) {
    header.kind = SlotKind::address;
    header.location = reinterpret_cast<std::uint64_t>(stays);
    SlotHeader::Reference reference{};
    if (step.offer != kNoChunk) {
      const Extent at =
          block.work.output_layout.extent(tile, static_cast<std::uint64_t>(step.offer));
      reference.place_location =
          reinterpret_cast<std::uint64_t>(block.work.output + at.offset * block.work.element_bytes);
    }
    header.reference = reference;
    if (block.keeps()) block.referred[peer] = position + 1;
  } else {
    header.kind = SlotKind::staged;
    block.slots[i] = lane.data + index * lane.slot_bytes;
  }
  return true;
}

// Points the task at the step's i-th chunk. One thread.
static __device__ __noinline__ void aim(Block& block, std::uint32_t i, std::uint32_t senders,
                                        std::uint32_t receivers, std::uint64_t tile) {
  FoldTask& task = block.task;
  const ResolvedStep& step = block.step;
  task.target_count = 0;
  const std::byte* target = nullptr;
  if (step.target != kNoChunk) {
    const Piece piece = target_of(block, i, tile);
    task.elements = piece.elements;
    task.targets[task.target_count++] = piece.at;
    target = piece.at;
  }
  std::uint32_t at = 0;
  for (std::uint32_t sender = 0; sender <= senders; ++sender) {
    if (step.source != kNoChunk && sender == task.local_at) {
      const Piece piece = source_of(block, i, tile);
      task.elements = piece.elements;
      task.sources[at++] = piece.at;
    }
    if (sender == senders) break;
    const std::byte* message = block.messages[sender];
    task.sources[at++] = message == nullptr ? target : message + block.done;
  }
  for (std::uint32_t receiver = 0; receiver < receivers; ++receiver) {
    std::byte* slot = block.slots[receiver];
    if (slot != nullptr) task.targets[task.target_count++] = slot + block.done;
  }
}

// Publishes to the step's receivers what all threads have written (a barrier lies between), and
// gives the senders their slots back.
static __device__ __noinline__ void publish(Block& block, std::uint32_t lane_of_warp,
                                            std::uint32_t senders, std::uint32_t receivers) {
  const Rank& rank = block.rank;
  for (std::uint32_t i = lane_of_warp; i < receivers; i += kWarp) {
    const std::uint32_t peer = nth_peer(block.step.send, rank.rank, rank.world, i);
    const LaneView& lane = block.lanes(peer).send;
    const std::uint64_t position = block.ends(peer).sent++;
    store_release_system(sequence_of(lane.headers[slot_index(lane, position)]), position + 1);
  }
  for (std::uint32_t i = lane_of_warp; i < senders; i += kWarp) {
    const std::uint32_t peer = nth_peer(block.step.receive, rank.rank, rank.world, i);
    store_release_system(head_of(block.lanes(peer).receive.credit), ++block.ends(peer).received);
  }
}

}  // namespace gyre::device
