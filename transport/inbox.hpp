// An inbox: the memory of all lanes that end at one rank, as one block.
//
// Layout: a dense control area (per lane one proof line, the credit line and the headers), then the
// slots' data. Control is apart so that small messages, which travel in the headers, touch a few
// dense pages, while the data can lie on huge pages.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/memory.hpp"
#include "schedule/lane.hpp"

namespace gyre {

// One cache line per lane by which two processes prove that they see the same memory.
struct alignas(64) ProofLine {
  std::uint8_t challenge[16];  // written by the owner of the inbox
  std::uint8_t echo[16];       // the challenge, copied here by the lane's sender
  std::uint8_t pad[32];
};
static_assert(sizeof(ProofLine) == 64);

struct InboxLayout {
  std::uint32_t lanes = 0;
  std::uint32_t slots = 0;
  std::uint64_t slot_bytes = 0;

  std::uint64_t lane_control_bytes() const {
    return sizeof(ProofLine) + sizeof(LaneCredit) + slots * sizeof(SlotHeader);
  }
  std::uint64_t lane_data_bytes() const { return round_up(slots * slot_bytes, 4096); }
  // Data begins a whole number of huge pages into the mapping: on one of its own wherever the
  // kernel aligns large mappings to them, as it does for those that may have huge pages.
  std::uint64_t data_offset() const { return round_up(lanes * lane_control_bytes(), kHugePage); }
  std::uint64_t total_bytes() const { return data_offset() + lanes * lane_data_bytes(); }

  ProofLine* proof(std::byte* base, std::uint32_t lane) const;
  LaneView view(std::byte* base, std::uint32_t lane) const;
};

// Chooses page sizes for a mapped inbox: small pages for control; huge pages for data unless the
// inbox is so large that sparsely used lanes would waste memory. Advice only.
void advise_inbox(const Mapping& memory, const InboxLayout& layout);

}  // namespace gyre
