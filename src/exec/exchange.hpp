// What a rank does in a collective in which everybody sends each other rank at most one message of
// one length, of what it was given, and gets at most one: the direct schedules of one tile.
#pragma once

#include <cstdint>

#include "schedule/call.hpp"
#include "schedule/cursor.hpp"

namespace gyre {

struct Exchange {
  PeerRange to, from;
  // From the bytes for (of) one rank to those of the next; 0: all get the same, or there is one.
  std::uint64_t input_stride = 0, output_stride = 0;
  bool folds = false;  // what comes, and the own part, in rank order
  bool keeps = false;  // the own part is copied to where it belongs
};

// Whether calls of the kind are exchanges, blocks all being of one length.
bool is_exchange(CallKind kind);

// Of such a call with messages of `bytes`.
Exchange exchange_of(const Call& call, std::uint64_t bytes, std::uint32_t rank,
                     std::uint32_t world);

}  // namespace gyre
