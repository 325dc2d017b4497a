// The memory of peers that a step works on in place: what it reads there, and where they offered to
// have its result (chunks of their own output that this rank can write, which saves them a copy,
// and the slots their way).
//
// A claimed slot cannot be taken back before it is released: a peer whose call fails waits for the
// work that is under way, so that its memory is its own again when the call returns.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "schedule/cursor.hpp"
#include "transport/transport.hpp"

namespace gyre {

class Places {
 public:
  explicit Places(std::size_t world) : at_(world) { claimed_.reserve(world); }

  // Claims what is read in this very process, where a peer may unmap it, and, if a result of
  // `results` bytes (0: none) may go there, what the ranks of `step.receive` offer that also get
  // the result. False: a peer took its slot back, and nothing is claimed.
  bool claim(const ResolvedStep& step, std::uint64_t results, std::uint32_t rank,
             std::span<Link* const> links);
  // The slots may be taken back again. Whether all were still there. at() stays.
  bool release(std::span<Link* const> links);
  // Forgets everything.
  void clear();

  // Those of the claimed slots; at() is null where nothing is offered.
  std::span<const std::uint32_t> peers() const { return claimed_; }
  std::byte* at(std::uint32_t peer) const { return at_[peer]; }

 private:
  std::vector<std::byte*> at_;  // by peer
  std::vector<std::uint32_t> claimed_;
};

}  // namespace gyre
