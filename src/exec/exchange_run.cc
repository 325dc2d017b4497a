#include "exec/exchange_run.hpp"

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

ExchangeRun::ExchangeRun(const Work& work, std::uint64_t elements)
    : input_(work.input),
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

int ExchangeRun::blocked_on(const Wiring& wiring) const {
  for (std::size_t peer = 0; peer < wiring.links.size(); ++peer) {
    Link* const link = wiring.links[peer];
    if (link == nullptr) continue;
    const bool ready = sent_ ? link->receive.front() != nullptr : link->send.has_credit();
    if (!ready) return static_cast<int>(peer);
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
  GYRE_TRY(fold_all(wiring));
  return Progress::done;
}

void ExchangeRun::send_all(const Wiring& wiring) const {
  for (Link* const link : wiring.links) {
    if (link == nullptr) continue;
    SlotHeader& header = link->send.header();
    header.bytes = bytes_;
    header.count = stamp_.value;
    header.call = tag_.value;
    fill(*link, input_, bytes_);
    link->send.post();
    if (bytes_ > kInlineBytes) link->send.claim_slot(bytes_);
    wiring.bells->add(*link);
  }
}

Result<void> ExchangeRun::fold_all(const Wiring& wiring) const {
  for (std::size_t peer = 0; peer < wiring.links.size(); ++peer) {
    Link* const link = wiring.links[peer];
    wiring.operands[peer] = input_;
    if (link == nullptr) continue;
    const SlotHeader& header = link->receive.header();
    GYRE_TRY(
        expect_call(header, {tag_, stamp_, bytes_}, static_cast<std::uint32_t>(peer), wiring.rank));
    wiring.operands[peer] =
        header.kind == SlotKind::inlined ? header.inline_data : link->receive.slot();
  }
  Fold how = fold_;
  how.local = static_cast<int>(wiring.rank);
  how.finish = true;
  fold(how, output_, wiring.operands.first(wiring.links.size()), elements_);
  for (Link* const link : wiring.links) {
    if (link == nullptr) continue;
    link->receive.release();
    wiring.bells->add_credit(*link);
  }
  return {};
}

}  // namespace gyre
