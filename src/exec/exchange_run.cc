#include "exec/exchange_run.hpp"

#include <fmt/format.h>

#include <cstring>

#include "exec/expect_call.hpp"

namespace gyre {
namespace {

void fill(const Link& link, const std::byte* from, std::uint64_t bytes) {
  SlotHeader& header = link.send.header();
  if (bytes <= kInlineBytes) {
    header.kind = SlotKind::inlined;
    std::memcpy(header.inline_data, from, bytes);
  } else {
    header.kind = SlotKind::staged;
    copy_to_peer(link.send.slot(), from, bytes);
  }
}

}  // namespace

ExchangeRun::ExchangeRun(const Work& work, const Exchange& exchange, std::uint64_t elements)
    : exchange_(exchange),
      input_(work.input),
      output_(work.output),
      elements_(elements),
      bytes_(elements * size_of(work.fold.type)),
      fold_(work.fold),
      tag_(work.tag),
      stamp_(work.stamp) {}

void ExchangeRun::restart(const std::byte* input, std::byte* output, CallStamp stamp) {
  input_ = input;
  output_ = output;
  stamp_ = stamp;
  sent_ = false;
}

int ExchangeRun::awaited_sender(const Wiring& wiring) const {
  if (!sent_) return -1;
  for (const std::uint32_t peer : peers_of(exchange_.from, wiring.rank, wiring.world())) {
    if (wiring.link(peer).receive.front() == nullptr) return static_cast<int>(peer);
  }
  return -1;
}

int ExchangeRun::blocked_on(const Wiring& wiring) const {
  if (sent_) return awaited_sender(wiring);
  for (const std::uint32_t peer : peers_of(exchange_.to, wiring.rank, wiring.world())) {
    if (!wiring.link(peer).send.has_credit()) return static_cast<int>(peer);
  }
  return -1;
}

Result<Progress> ExchangeRun::try_step(const Wiring& wiring) {
  if (blocked_on(wiring) >= 0) return Progress::blocked;
  if (!sent_) {
    send_all(wiring);
    sent_ = true;
    if (blocked_on(wiring) >= 0) return Progress::stepped;
  }
  GYRE_TRY(exchange_.folds ? fold_all(wiring) : store_all(wiring));
  for (const std::uint32_t peer : peers_of(exchange_.from, wiring.rank, wiring.world())) {
    Link& link = wiring.link(peer);
    link.receive.release();
    wiring.bells->add_credit(link);
  }
  return Progress::done;
}

void ExchangeRun::send_all(const Wiring& wiring) const {
  for (const std::uint32_t peer : peers_of(exchange_.to, wiring.rank, wiring.world())) {
    Link& link = wiring.link(peer);
    SlotHeader& header = link.send.header();
    header.bytes = bytes_;
    header.count = stamp_.value;
    header.call = tag_.value;
    header.location = link.receive.position();
    fill(link, input_ + peer * exchange_.input_stride, bytes_);
    link.send.post();
    if (bytes_ > kInlineBytes) link.send.claim_slot(bytes_);
    wiring.bells->add(link);
  }
}

// Where the peer's message lies; it is there.
Result<const std::byte*> ExchangeRun::receive(std::uint32_t peer, const Wiring& wiring) const {
  Link& link = wiring.link(peer);
  const SlotHeader& header = link.receive.header();
  GYRE_TRY(expect_call(header, {tag_, stamp_, bytes_}, peer, wiring.rank));
  link.send.hear_of(header.location);
  if (header.kind == SlotKind::inlined) return header.inline_data;
  if (header.kind == SlotKind::staged) return link.receive.slot();
  return Error{
      Status::internal,
      fmt::format("rank {} sent {} bytes by reference, which are sent in slots", peer, bytes_)};
}

Result<void> ExchangeRun::fold_all(const Wiring& wiring) const {
  wiring.operands[wiring.rank] = own_part(wiring);
  for (const std::uint32_t peer : peers_of(exchange_.from, wiring.rank, wiring.world())) {
    GYRE_TRY_ASSIGN(wiring.operands[peer], receive(peer, wiring));
  }
  Fold how = fold_;
  how.local = static_cast<int>(wiring.rank);
  how.finish = true;
  fold(how, output_, wiring.operands.first(wiring.links.size()), elements_);
  return {};
}

Result<void> ExchangeRun::store_all(const Wiring& wiring) const {
  if (exchange_.keeps) {
    copy(output_ + wiring.rank * exchange_.output_stride, own_part(wiring), bytes_);
  }
  for (const std::uint32_t peer : peers_of(exchange_.from, wiring.rank, wiring.world())) {
    GYRE_TRY_ASSIGN(const std::byte* const message, receive(peer, wiring));
    copy(output_ + peer * exchange_.output_stride, message, bytes_);
  }
  return {};
}

}  // namespace gyre
