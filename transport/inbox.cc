#include "transport/inbox.hpp"

#include <sys/mman.h>

namespace gyre {
namespace {

// Up to here an inbox that uses one page of every lane wastes at most this much on huge pages.
constexpr std::uint64_t kMaxHugeData = 32ULL << 20;

}  // namespace

ProofLine* InboxLayout::proof(std::byte* base, std::uint32_t lane) const {
  return reinterpret_cast<ProofLine*>(base + lane * lane_control_bytes());
}

LaneView InboxLayout::view(std::byte* base, std::uint32_t lane) const {
  std::byte* control = base + lane * lane_control_bytes() + sizeof(ProofLine);
  LaneView view;
  view.credit = reinterpret_cast<LaneCredit*>(control);
  view.headers = reinterpret_cast<SlotHeader*>(control + sizeof(LaneCredit));
  view.data = base + data_offset() + lane * lane_data_bytes();
  view.slots = slots;
  view.slot_bytes = slot_bytes;
  return view;
}

void advise_inbox(const Mapping& memory, const InboxLayout& layout) {
  const std::uint64_t data = layout.total_bytes() - layout.data_offset();
  const std::uint64_t small = data > kMaxHugeData ? memory.size() : layout.data_offset();
  ::madvise(memory.data(), small, MADV_NOHUGEPAGE);
}

}  // namespace gyre
