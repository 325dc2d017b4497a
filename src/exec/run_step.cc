// Steps of several chunks: their value is the chunks' concatenation, one message. It is put
// together in the slots and taken apart from there, chunk by chunk, so that no chunk need lie
// beside another.
#include <fmt/format.h>

#include <array>

#include "exec/strand_run.hpp"

namespace gyre {

StrandRun::Moved StrandRun::resolve_run(const ResolvedStep& step) const {
  Moved moved{.step = step};
  const bool reads = step.source != kNoChunk;
  const Side side = reads ? step.source_side : step.target_side;
  const std::int32_t first = reads ? step.source : step.target;
  const std::uint32_t stride = reads ? step.source_stride : step.target_stride;
  const std::uint32_t chunks = chunks_of(*work_.program, side);
  for (std::uint32_t i = 0; i < step.chunks; ++i) {
    moved.elements += extent(side, step.tile, chunk_at(first, stride, i, chunks)).count;
  }
  moved.bytes = moved.elements * element_bytes_;
  return moved;
}

// Everywhere that the i-th chunk goes, `bytes` long and `offset` bytes into the value.
void StrandRun::add_places_of_chunk(const Moved& moved, std::uint64_t chunk, std::uint64_t bytes,
                                    std::uint64_t offset, std::byte* small,
                                    const Wiring& wiring) const {
  const ResolvedStep& step = moved.step;
  wiring.destinations->clear();
  if (step.target != kNoChunk) {
    const std::uint32_t chunks = chunks_of(*work_.program, step.target_side);
    const std::uint32_t target =
        chunk_at(step.target, step.target_stride, static_cast<std::uint32_t>(chunk), chunks);
    std::byte* base = step.target_side == Side::output ? work_.output : work_.scratch;
    wiring.destinations->add(
        base + extent(step.target_side, step.tile, target).offset * element_bytes_,
        Destinations::How::stored);
  }
  if (moved.bytes <= kInlineBytes) {
    if (step.send.count != 0) {
      wiring.destinations->add(small + offset, Destinations::How::stored);
    }
    return;
  }
  for (const std::uint32_t peer : peers_of(step.send, wiring.rank, wiring.world())) {
    Link& link = wiring.link(peer);
    wiring.destinations->add_to_peer(link.send.slot() + offset, bytes, link.to_slots);
  }
}

// wiring.messages: the operands' beginnings, the local one's (at `local`) being unknown.
void StrandRun::move_chunks(const Moved& moved, std::size_t operands, int local, std::byte* small,
                            const Wiring& wiring) const {
  const ResolvedStep& step = moved.step;
  const bool reads = step.source != kNoChunk;
  const Side side = reads ? step.source_side : step.target_side;
  const std::int32_t first = reads ? step.source : step.target;
  const std::uint32_t stride = reads ? step.source_stride : step.target_stride;
  const std::uint32_t chunks = chunks_of(*work_.program, side);
  Fold how = work_.fold;
  how.local = scaled(step, local);
  how.finish = step.finish;
  const bool folds = needs_fold(step, static_cast<int>(operands), how.local);
  std::uint64_t offset = 0;
  for (std::uint32_t i = 0; i < step.chunks; ++i) {
    const Extent at = extent(side, step.tile, chunk_at(first, stride, i, chunks));
    const std::uint64_t bytes = at.count * element_bytes_;
    if (bytes == 0) continue;
    const auto sources = wiring.operands.first(operands);
    for (std::size_t o = 0; o < operands; ++o) {
      sources[o] = static_cast<int>(o) == local ? memory(side) + at.offset * element_bytes_
                                                : wiring.messages[o] + offset;
    }
    add_places_of_chunk(moved, i, bytes, offset, small, wiring);
    if (folds) {
      wiring.destinations->fold(how, sources, at.count);
    } else {
      wiring.destinations->copy(sources[0], bytes);
    }
    offset += bytes;
  }
}

Result<bool> StrandRun::execute_run(const Moved& moved, const Wiring& wiring) {
  const ResolvedStep& step = moved.step;
  const auto senders = peers_of(step.receive, wiring.rank, wiring.world());
  const auto receivers = peers_of(step.send, wiring.rank, wiring.world());
  const bool in_rank_order = step.receive.covers(wiring.rank, wiring.world());
  std::size_t operands = 0;
  int local = -1;
  const auto add_local = [&] {
    local = static_cast<int>(operands);
    wiring.messages[operands++] = nullptr;
  };
  for (const std::uint32_t peer : senders) {
    if (step.source != kNoChunk && local < 0 && in_rank_order && peer > wiring.rank) add_local();
    GYRE_TRY_ASSIGN(wiring.messages[operands],
                    receive_one(moved, peer, static_cast<int>(operands), wiring));
    // Only a sender that was offered a place for a single chunk may have put it there.
    if (wiring.messages[operands++] == nullptr) {
      return Error{Status::internal, fmt::format("rank {} placed what was not offered", peer)};
    }
  }
  if (step.source != kNoChunk && local < 0) add_local();
  alignas(16) std::array<std::byte, kInlineBytes> small;
  wiring.places->clear();
  for (const std::uint32_t peer : receivers) {
    SlotHeader& header = wiring.link(peer).send.header();
    header.bytes = moved.bytes;
    header.count = work_.stamp.value;
    header.call = work_.tag.value;
    header.kind = moved.bytes <= kInlineBytes ? SlotKind::inlined : SlotKind::staged;
  }
  move_chunks(moved, operands, local, small.data(), wiring);
  GYRE_TRY_ASSIGN(const bool held, references_held(moved, wiring));
  if (!held) return false;
  post_sends(moved, small.data(), wiring);
  for (const std::uint32_t peer : senders) {
    Link& link = wiring.link(peer);
    link.receive.release();
    wiring.bells->add(link);
  }
  return true;
}

}  // namespace gyre
