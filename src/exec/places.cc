#include "exec/places.hpp"

namespace gyre {

bool Places::claim(const ResolvedStep& step, std::uint64_t results, std::uint32_t rank,
                   std::span<Link* const> links) {
  const auto world = static_cast<std::uint32_t>(links.size());
  for (const std::uint32_t peer : peers_of(step.receive, rank, world)) {
    Link& link = *links[peer];
    const SlotHeader& header = link.receive.header();
    if (!header.by_reference()) continue;
    const bool offered = results > 0 && header.offers() && step.send.covers(peer, world);
    std::byte* place = offered ? link.place(header, results) : nullptr;
    if (place == nullptr && !link.shares_process()) continue;
    if (!link.receive.claim()) {
      release(links);
      clear();
      return false;
    }
    at_[peer] = place;
    claimed_.push_back(peer);
  }
  return true;
}

bool Places::release(std::span<Link* const> links) {
  bool held = true;
  for (const std::uint32_t peer : claimed_) held = links[peer]->receive.finish_claim() && held;
  return held;
}

void Places::clear() {
  for (const std::uint32_t peer : claimed_) at_[peer] = nullptr;
  claimed_.clear();
}

}  // namespace gyre
