#include "exec/strand_run.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "exec/expect_call.hpp"

namespace gyre {
namespace {

// From here on one copy for several peers is worth more than a copy near each.
constexpr std::uint64_t kWorthSharing = 4096;

}  // namespace

StrandRun::StrandRun(const Work& work)
    : work_(work),
      element_bytes_(size_of(work.fold.type)),
      first_(*work.program, static_cast<std::uint32_t>(work.strand), work.tiles),
      cursor_(first_) {
  arrive();
}

void StrandRun::restart(const std::byte* input, std::byte* output, CallStamp stamp) {
  work_.input = input;
  work_.output = output;
  work_.stamp = stamp;
  cursor_ = first_;
  arrive();
}

Result<Progress> StrandRun::try_step(const Wiring& wiring) {
  if (cursor_.done()) return Progress::done;
  const bool meets = step_.token != Token::none;
  if (meets && !wiring.local->ready(step_.token, work_.strand)) return Progress::blocked;
  if (missing_peer(step_, wiring) >= 0) return Progress::blocked;
  GYRE_TRY_ASSIGN(const bool executed, step_.chunks == 1 ? execute(resolve(step_), wiring)
                                                         : execute_run(resolve_run(step_), wiring));
  if (!executed) return Progress::blocked;
  if (meets) wiring.local->move(step_.token, work_.strand);
  cursor_.next();
  arrive();
  return cursor_.done() ? Progress::done : Progress::stepped;
}

int StrandRun::missing_peer(const ResolvedStep& step, const Wiring& wiring) {
  for (const std::uint32_t peer : peers_of(step.receive, wiring.rank, wiring.world())) {
    if (wiring.link(peer).receive.front() == nullptr) return static_cast<int>(peer);
  }
  for (const std::uint32_t peer : peers_of(step.send, wiring.rank, wiring.world())) {
    if (!wiring.link(peer).send.has_credit()) return static_cast<int>(peer);
  }
  return -1;
}

int StrandRun::blocked_on(const Wiring& wiring) const {
  return cursor_.done() ? -1 : missing_peer(step_, wiring);
}

int StrandRun::awaited_sender(const Wiring& wiring) const {
  if (cursor_.done()) return -1;
  for (const std::uint32_t peer : peers_of(step_.receive, wiring.rank, wiring.world())) {
    if (wiring.link(peer).receive.front() == nullptr) return static_cast<int>(peer);
  }
  return -1;
}

bool StrandRun::awaits(int peer, const Wiring& wiring) const {
  if (cursor_.done()) return false;
  for (const std::uint32_t sender : peers_of(step_.receive, wiring.rank, wiring.world())) {
    if (static_cast<int>(sender) == peer) return wiring.link(sender).receive.front() == nullptr;
  }
  return false;
}

// A scratch chunk is as long as the chunk of the input it is made of: all of a tile are alike where
// the input has one per rank, else it has the same number.
Extent StrandRun::extent(Side side, std::uint64_t tile, std::uint64_t chunk) const {
  if (side == Side::input) return work_.input_layout.extent(tile, chunk);
  if (side == Side::output) return work_.output_layout.extent(tile, chunk);
  const Layout& like = work_.input_layout;
  return {chunk * like.slice, like.extent(tile, like.has_even_tiles() ? 0 : chunk).count};
}

const std::byte* StrandRun::memory(Side side) const {
  if (side == Side::input) return work_.input;
  return side == Side::output ? work_.output : work_.scratch;
}

StrandRun::Moved StrandRun::resolve(const ResolvedStep& step) const {
  Moved moved{.step = step};
  if (step.target != kNoChunk) {
    const Extent at = extent(step.target_side, step.tile, static_cast<std::uint64_t>(step.target));
    moved.elements = at.count;
    std::byte* base = step.target_side == Side::output ? work_.output : work_.scratch;
    moved.target = base + at.offset * element_bytes_;
  }
  if (step.source != kNoChunk) {
    const Extent at = extent(step.source_side, step.tile, static_cast<std::uint64_t>(step.source));
    moved.elements = at.count;
    moved.source = memory(step.source_side) + at.offset * element_bytes_;
  }
  moved.bytes = moved.elements * element_bytes_;
  if (step.offer != kNoChunk) {
    const Extent at = work_.output_layout.extent(step.tile, static_cast<std::uint64_t>(step.offer));
    moved.offer = work_.output + at.offset * element_bytes_;
  }
  return moved;
}

Result<const std::byte*> StrandRun::receive_one(const Moved& moved, std::uint32_t peer, int slot,
                                                const Wiring& wiring) const {
  Link& link = wiring.link(peer);
  // Not front(): a peer may take a slot back after it was seen to be there.
  const SlotHeader& header = link.receive.header();
  GYRE_TRY(expect_call(header, {work_.tag, work_.stamp, moved.bytes}, peer, wiring.rank));
  if (moved.bytes == 0) return static_cast<const std::byte*>(wiring.scratch);
  if (header.kind == SlotKind::placed) return static_cast<const std::byte*>(moved.target);
  if (const std::byte* in_place = link.locate(header, moved.bytes)) return in_place;
  // A lone operand that is only stored is fetched to where it goes.
  const bool straight = moved.target != nullptr && moved.source == nullptr &&
                        moved.step.receive.count == 1 && !needs_fold(moved.step, 1, -1);
  std::byte* into = straight
                        ? moved.target
                        : wiring.scratch + static_cast<std::uint64_t>(slot) * wiring.scratch_stride;
  GYRE_TRY(link.fetch(header, moved.bytes, into));
  return static_cast<const std::byte*>(into);
}

Result<int> StrandRun::gather_operands(const Moved& moved, const Wiring& wiring, int* local) const {
  const PeerRange range = moved.step.receive;
  const bool in_rank_order = moved.source != nullptr && range.covers(wiring.rank, wiring.world());
  int operands = 0;
  const auto add = [&](const std::byte* operand) {
    wiring.operands[static_cast<std::size_t>(operands++)] = operand;
  };
  for (const std::uint32_t peer : peers_of(range, wiring.rank, wiring.world())) {
    if (in_rank_order && *local < 0 && peer > wiring.rank) {
      *local = operands;
      add(moved.source);
    }
    GYRE_TRY_ASSIGN(const std::byte* operand, receive_one(moved, peer, operands, wiring));
    add(operand);
  }
  if (moved.source != nullptr && *local < 0) {
    *local = operands;
    add(moved.source);
  }
  return operands;
}

// What was read in a peer's own memory counts only if the peer still stood by it afterwards. A peer
// takes slots back when its call fails; the reason is on its way here.
Result<bool> StrandRun::references_held(const Moved& moved, const Wiring& wiring) const {
  for (const std::uint32_t peer : peers_of(moved.step.receive, wiring.rank, wiring.world())) {
    const Link& link = wiring.link(peer);
    const SlotHeader& header = link.receive.header();
    if (!header.by_reference()) continue;
    if (!link.receive.still_there()) return false;
    GYRE_TRY(link.intact(header));
  }
  return true;
}

bool StrandRun::needs_fold(const ResolvedStep& step, int operands, int local) const {
  if (!work_.reducing) return false;
  return operands > 1 || (local >= 0 && work_.fold.op == ReduceOp::premulsum) ||
         (step.finish && work_.fold.op == ReduceOp::avg);
}

// The step's own output, and the places of peers.
void StrandRun::add_results(const Moved& moved, std::span<const std::byte* const> sources,
                            bool target_is_sent, const Wiring& wiring) const {
  using How = Destinations::How;
  // Memory that is read now is in the caches already.
  const auto is_read = [&](const std::byte* at) {
    return std::find(sources.begin(), sources.end(), at) != sources.end();
  };
  if (moved.target != nullptr) {
    const bool streams = work_.streams && !target_is_sent && !is_read(moved.target);
    wiring.destinations->add(moved.target, streams ? How::streamed : How::stored);
  }
  for (const std::uint32_t peer : wiring.places->peers()) {
    std::byte* place = wiring.places->at(peer);
    if (place == nullptr) continue;
    if (is_read(place)) {
      wiring.destinations->add(place, How::stored);
    } else if (work_.streams) {
      wiring.destinations->add(place, How::streamed);
    } else {
      wiring.destinations->add_to_peer(place, moved.bytes, wiring.link(peer).to_places);
    }
  }
}

Result<bool> StrandRun::execute(const Moved& moved, const Wiring& wiring) {
  int local = -1;
  GYRE_TRY_ASSIGN(const int operands, gather_operands(moved, wiring, &local));
  const std::span<const std::byte*> sources =
      wiring.operands.first(static_cast<std::size_t>(operands));
  const bool folds = needs_fold(moved.step, operands, scaled(moved.step, local));
  const bool small = moved.bytes <= kInlineBytes;
  wiring.destinations->clear();
  wiring.places->clear();
  const bool shares_results = folds && moved.target != nullptr && !small;
  if (!small && !wiring.places->claim(moved.step, shares_results ? moved.bytes : 0, wiring.rank,
                                      wiring.links)) {
    return false;
  }
  // A small value that is not stored rides in the headers from here.
  alignas(16) std::array<std::byte, kInlineBytes> here;
  const Lasting lasting = lasting_places(moved, folds, local);
  const bool target_is_sent = prepare_sends(moved, lasting, wiring);
  add_results(moved, sources, target_is_sent, wiring);
  if (folds && small && moved.target == nullptr) {
    wiring.destinations->add(here.data(), Destinations::How::stored);
  }
  const std::byte* value = folds ? here.data() : sources[0];
  if (moved.target != nullptr) value = moved.target;
  if (moved.bytes > 0 && !wiring.destinations->empty()) {
    const Ticks began = ticks_now();
    if (folds) {
      Fold fold_step = work_.fold;
      fold_step.local = scaled(moved.step, local);
      fold_step.finish = moved.step.finish;
      wiring.destinations->fold(fold_step, sources, moved.elements);
    } else {
      wiring.destinations->copy(sources[0], moved.bytes);
    }
    wiring.results->ticks += ticks_now() - began;
    if (moved.target != nullptr) wiring.results->bytes += moved.bytes;
  }
  const bool placed = wiring.places->release(wiring.links);
  GYRE_TRY_ASSIGN(const bool held, references_held(moved, wiring));
  if (!placed || !held) return false;
  post_sends(moved, value, wiring);
  for (const std::uint32_t peer : peers_of(moved.step.receive, wiring.rank, wiring.world())) {
    Link& link = wiring.link(peer);
    link.receive.release();
    wiring.bells->add_credit(link);
  }
  return true;
}

// A value that is stored lies in the output afterwards; one that is only passed on, where it was.
// What is copied from the input lies there as well, and peers had better read it there: reading
// what this core has just written took them two to five times as long, between cores that share no
// cache. (If they can: the input may lie in memory that they do not map.)
StrandRun::Lasting StrandRun::lasting_places(const Moved& moved, bool folds, int local) const {
  const bool copies = !folds && local == 0;
  const bool in_input = copies && moved.step.source_side == Side::input;
  const bool stays = copies && moved.step.source_side != Side::scratch;
  const bool stored = moved.target != nullptr && moved.step.target_side == Side::output;
  if (moved.target == nullptr) return {stays ? moved.source : nullptr, nullptr};
  if (in_input) return {moved.source, stored ? moved.target : nullptr};
  return {stored ? moved.target : nullptr, nullptr};
}

const std::byte* StrandRun::refer(const Moved& moved, const Lasting& lasting, Link& link,
                                  SlotHeader& header) const {
  if (!work_.by_reference || moved.bytes < work_.least_referred) return nullptr;
  // Where the value is stored as well, a slot is as near as the output, and spares the peer the
  // system call.
  const bool by_call = work_.by_call && moved.target == nullptr;
  const auto can = [&](const std::byte* at, bool call) {
    return at != nullptr && link.refer(at, moved.bytes, call, header);
  };
  if (can(lasting.first, by_call)) return lasting.first;
  return can(lasting.second, false) ? lasting.second : nullptr;
}

bool StrandRun::prepare_sends(const Moved& moved, const Lasting& lasting,
                              const Wiring& wiring) const {
  bool target_is_sent = false;
  for (const std::uint32_t peer : peers_of(moved.step.send, wiring.rank, wiring.world())) {
    Link& link = wiring.link(peer);
    SlotHeader& header = link.send.header();
    header.bytes = moved.bytes;
    header.count = work_.stamp.value;
    header.call = work_.tag.value;
    if (moved.bytes <= kInlineBytes) {
      header.kind = SlotKind::inlined;
    } else if (wiring.places->at(peer) != nullptr) {
      header.kind = SlotKind::placed;
    } else if (const std::byte* const at = refer(moved, lasting, link, header)) {
      if (moved.offer != nullptr) link.offer(moved.offer, moved.bytes, header);
      link.referred_until = link.send.position() + 1;
      target_is_sent = target_is_sent || at == moved.target;
    } else {
      header.kind = SlotKind::staged;
    }
  }
  if (moved.bytes >= kWorthSharing && moved.step.send.count > 1) share_copies(moved, wiring);
  for (const std::uint32_t peer : peers_of(moved.step.send, wiring.rank, wiring.world())) {
    LaneSender& lane = wiring.link(peer).send;
    if (lane.header().kind != SlotKind::staged) continue;
    wiring.destinations->add_to_peer(lane.slot(), moved.bytes, wiring.link(peer).to_slots);
  }
  return target_is_sent;
}

void StrandRun::share_copies(const Moved& moved, const Wiring& wiring) const {
  const auto peers = peers_of(moved.step.send, wiring.rank, wiring.world());
  const auto may_share = [&](std::uint32_t peer) {
    const Link& link = wiring.link(peer);
    return link.send.header().kind == SlotKind::staged && link.maps_regions();
  };
  int sharing = 0;
  for (const std::uint32_t peer : peers) sharing += may_share(peer) ? 1 : 0;
  std::byte* slot = sharing > 1 ? wiring.outbox->take() : nullptr;
  if (slot == nullptr) return;
  bool used = false;
  for (const std::uint32_t peer : peers) {
    Link& link = wiring.link(peer);
    if (!may_share(peer) || !link.refer_region(slot, moved.bytes, link.send.header())) continue;
    wiring.outbox->sent(link);
    used = true;
  }
  if (used) wiring.destinations->add_to_peer(slot, moved.bytes, wiring.outbox->route());
}

void StrandRun::post_sends(const Moved& moved, const std::byte* value, const Wiring& wiring) const {
  for (const std::uint32_t peer : peers_of(moved.step.send, wiring.rank, wiring.world())) {
    Link& link = wiring.link(peer);
    SlotHeader& header = link.send.header();
    if (header.kind == SlotKind::inlined && moved.bytes > 0) {
      std::memcpy(header.inline_data, value, moved.bytes);
    }
    link.send.post();
    if (header.kind == SlotKind::staged && link.to_slots.claims(moved.bytes)) {
      link.send.claim_slot(moved.bytes);
    }
    wiring.bells->add(link);
  }
}

}  // namespace gyre
