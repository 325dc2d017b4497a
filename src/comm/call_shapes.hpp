// What kind of thing a call is, for those that turn calls into work.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.hpp"
#include "schedule/call.hpp"
#include "schedule/layout.hpp"

namespace gyre {

inline bool is_message(const Call& call) {
  return call.kind == CallKind::send || call.kind == CallKind::receive;
}

inline bool is_all_to_all(const Call& call) {
  return call.kind == CallKind::all_to_all || call.kind == CallKind::all_to_all_v;
}

// Which of its buffers a rank uses in a call, if the call has anything to move.
struct Roles {
  bool reads = false;
  bool writes = false;
};
Roles roles_of(const Call& call, int rank);

// What a rank's call reads and writes, in elements of its buffers. All-reduce, reduce and broadcast
// may write where they read from (`in_place`).
struct Footprint {
  std::vector<Extent> input;
  std::vector<Extent> output;
  bool in_place = false;

  // Where such a buffer ends.
  static std::uint64_t end(std::span<const Extent> extents);
};
Footprint footprint_of(const Call& call, int rank, int world);

// A collective over nothing is done before it begins; a message of nothing is still a message.
bool is_empty(const Call& call);

// How many elements from its input's begin on an all-to-all sends.
std::uint64_t sent_elements(const Call& all_to_all, int world);

// The messages that an all-to-all-v consists of on this rank, its own to itself last; rounds of
// rank + 1, rank + 2, ... so that not everybody sends to the same one first. In `messages`, whose
// memory is used again.
void find_messages(const Call& all_to_all_v, int rank, int world, std::vector<Call>& messages);

// An error where sends to the own rank and receives from it do not match one by one.
Result<void> check_messages_to_self(int rank, std::span<const Call* const> sends,
                                    std::span<const Call* const> receives);

}  // namespace gyre
