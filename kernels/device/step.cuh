// One step of a strand, as one warp prepares and publishes it: lane i of the warp serves the peers
// i, i + 32, ... of the step. In between all threads of the block move the data.
#pragma once

#include "kernels/device/decode.cuh"
#include "kernels/device/waits.cuh"

namespace gyre::device {

// A message that lies in a buffer of the peer's call: its address there, and here.
__device__ inline void read_reference(Block& block, std::uint32_t i, std::uint32_t peer,
                                      const SlotHeader& header) {
  const Shifts& shifts = block.shifts[peer];
  const auto side = static_cast<Side>(header.reference.region);
  const std::uint64_t shift = side == Side::input ? shifts.input : shifts.output;
  block.messages[i] = reinterpret_cast<const std::byte*>(header.location + shift);
  const std::uint64_t place = header.reference.place_location;
  if (place != 0) block.offered[i] = reinterpret_cast<std::byte*>(place + shifts.output);
}

// Takes the message at the front of the lane from the i-th sender. False: stop.
__device__ inline bool take_message(Block& block, std::uint32_t i, std::uint32_t peer) {
  const LaneView& lane = block.lanes[peer].receive;
  const std::uint64_t position = block.ends[peer].received;
  if (!wait_message(block, peer, lane, position)) return false;
  const std::uint32_t index = slot_index(lane, position);
  const SlotHeader& header = *global(&lane.headers[index]);
  // All at once, since each takes as long as all of them.
  const Matter theirs = matter_of(header);
  const SlotKind kind = header.kind;
  if (theirs.tag != block.work.tag || theirs.stamp != block.work.stamp ||
      theirs.bytes != block.current().bytes) {
    report(block.rank, Fault::other_call, peer, matter_of(block), theirs);
    return false;
  }
  block.offered[i] = nullptr;
  switch (kind) {
    case SlotKind::inlined:
      block.messages[i] = header.inline_data;
      return true;
    case SlotKind::staged:
      block.messages[i] = lane.data + index * lane.slot_bytes;
      return true;
    case SlotKind::address:
      read_reference(block, i, peer, header);
      return true;
    case SlotKind::placed:
      block.messages[i] = nullptr;
      return true;
    default:
      report(block.rank, Fault::bad_slot, peer, matter_of(block), theirs);
      return false;
  }
}

// What is the same for every kind of message.
__device__ inline void fill_header(const Block& block, const DecodedStep& step,
                                   SlotHeader& header) {
  header.bytes = step.bytes;
  header.count = block.work.stamp;
  header.call = block.work.tag;
}

// The header of a message that the receiver reads where it lies.
__device__ inline void fill_reference(Block& block, const DecodedStep& step, std::uint32_t peer,
                                      SlotHeader& header) {
  fill_header(block, step, header);
  header.kind = SlotKind::address;
  header.location = reinterpret_cast<std::uint64_t>(step.stays);
  SlotHeader::Reference reference{};
  reference.region = static_cast<std::uint64_t>(step.stays_in);
  reference.place_location = reinterpret_cast<std::uint64_t>(step.offer);
  header.reference = reference;
  block.referred[peer] = block.ends[peer].sent + 1;
}

// Fills the header of the next slot to the i-th receiver, and says where the value is to be
// written. False: stop.
__device__ inline bool prepare_send(Block& block, std::uint32_t i, std::uint32_t peer) {
  const DecodedStep& step = block.current();
  const LaneView& lane = block.lanes[peer].send;
  const std::uint64_t position = block.ends[peer].sent;
  if (!wait_credit(block, peer, lane, position)) return false;
  const std::uint32_t index = slot_index(lane, position);
  SlotHeader& header = lane.headers[index];
  fill_header(block, step, header);
  std::byte* place = step.answers ? block.offered[i] : nullptr;
  block.slots[i] = nullptr;
  if (step.bytes <= kInlineBytes) {
    header.kind = SlotKind::inlined;
    block.slots[i] = header.inline_data;
  } else if (place != nullptr) {
    header.kind = SlotKind::placed;
    block.slots[i] = place;
  } else if (step.stays != nullptr && block.refers[peer] != 0 && step.bytes > kPushedBytes) {
    fill_reference(block, step, peer, header);
  } else {
    header.kind = SlotKind::staged;
    block.slots[i] = lane.data + index * lane.slot_bytes;
  }
  return true;
}

// Points the task at the step's i-th chunk. One thread.
static __device__ __noinline__ void aim(Block& any, std::uint32_t i) {
  Block& block = *shared(&any);
  FoldTask& task = block.task;
  const DecodedStep& decoded = block.current();
  const ResolvedStep& step = decoded.step;
  task.target_count = 0;
  const std::byte* target = nullptr;
  if (step.target != kNoChunk) {
    const Piece piece = i == 0 ? decoded.target : target_of(block, step, i, decoded.tile);
    task.elements = piece.elements;
    task.targets[task.target_count++] = piece.at;
    target = piece.at;
  }
  std::uint32_t at = 0;
  for (std::uint32_t sender = 0; sender <= decoded.senders; ++sender) {
    if (step.source != kNoChunk && sender == decoded.local_at) {
      const Piece piece = i == 0 ? decoded.source : source_of(block, step, i, decoded.tile);
      task.elements = piece.elements;
      task.sources[at++] = piece.at;
    }
    if (sender == decoded.senders) break;
    const std::byte* message = block.messages[sender];
    task.sources[at++] = message == nullptr ? target : message + block.done;
  }
  for (std::uint32_t receiver = 0; receiver < decoded.receivers; ++receiver) {
    std::byte* slot = block.slots[receiver];
    if (slot != nullptr) task.targets[task.target_count++] = slot + block.done;
  }
}

// What does not change from chunk to chunk of a step. One thread.
__device__ inline void set_fold(Block& block) {
  const DecodedStep& step = block.current();
  FoldTask& task = block.task;
  block.done = 0;
  task.source_count = step.sources;
  task.fold.local = step.scales ? static_cast<int>(step.local_at) : -1;
  task.fold.finish = step.step.finish;
  task.folds = step.folds;
}

// Whether any byte is to be moved: a step that sends references only, or finds its result in place,
// needs the first warp alone.
__device__ inline bool moves_data(const Block& block) {
  const FoldTask& task = block.task;
  if (block.current().bytes == 0 || task.target_count == 0) return false;
  if (task.folds || block.current().step.chunks != 1 || task.target_count != 1) return true;
  return task.targets[0] != task.sources[0];
}

// Whether no receiver needs the step's data to be moved first: all read it where it is copied from.
__device__ inline bool lies_ready(const Block& block) {
  const DecodedStep& step = block.current();
  if (!step.is_there) return false;
  for (std::uint32_t i = 0; i < step.receivers; ++i) {
    if (block.slots[i] != nullptr) return false;
  }
  return step.receivers != 0;
}

// Publishes to the step's receivers what all threads have written; a barrier lies between. The
// first warp.
static __device__ __noinline__ void post(Block& any) {
  Block& block = *shared(&any);
  const DecodedStep& step = block.current();
  const Rank& rank = block.rank;
  for (std::uint32_t i = threadIdx.x; i < step.receivers; i += kWarp) {
    const std::uint32_t peer = nth_peer(step.step.send, rank.rank, rank.world, i);
    const LaneView& lane = block.lanes[peer].send;
    const std::uint64_t position = block.ends[peer].sent++;
    store_release_system(sequence_of(lane.headers[slot_index(lane, position)]), position + 1);
  }
}

// The same, unless it was done before, and gives the senders their slots back. The first warp.
static __device__ __noinline__ void publish(Block& any) {
  Block& block = *shared(&any);
  const DecodedStep& step = block.current();
  const Rank& rank = block.rank;
  if (!block.posted) post(block);
  for (std::uint32_t i = threadIdx.x; i < step.senders; i += kWarp) {
    const std::uint32_t peer = nth_peer(step.step.receive, rank.rank, rank.world, i);
    give_back(block, peer);
  }
}

}  // namespace gyre::device
