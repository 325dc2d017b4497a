#include "comm/message_chains.hpp"

#include <algorithm>
#include <tuple>

#include "comm/device_work.hpp"

namespace gyre {

MessageChains::MessageChains(int rank, int world, const DeviceFacts& device)
    : rank_(rank),
      world_(world),
      device_(device),
      spread_(message_spread(static_cast<std::uint32_t>(world), device)),
      program_(message_program(rank, world)) {}

MessageChains::Place MessageChains::place_of(const Call& message) const {
  const bool sends = message.kind == CallKind::send;
  const int ahead = sends ? message.root - rank_ : rank_ - message.root;
  const auto distance = static_cast<std::uint32_t>((ahead + world_) % world_);
  return {2 * (distance % spread_.classes) + (sends ? 0U : 1U), distance, &message};
}

device::Work MessageChains::work_of(const Call& message, CallTag tag, std::uint64_t number) const {
  device::Work work = device_work(message, number, world_);
  if (tag.value != 0) work.tag = tag.value;
  const DevicePlan cut = device_message_plan(message, spread_, device_);
  work.input_layout = cut.plan.input;
  work.output_layout = cut.plan.output;
  work.tiles = cut.plan.tiles;
  work.striped = cut.striped;
  work.channels = cut.channels;
  work.by_reference = true;
  work.peer = static_cast<std::uint32_t>(message.root);
  work.strand = message.kind == CallKind::send ? 0 : 1;
  return work;
}

void MessageChains::arrange(std::span<const Call> messages, CallTag tag, std::uint64_t number) {
  places_.clear();
  for (const Call& message : messages) places_.push_back(place_of(message));
  // Those of one pair of ranks stay in the order of the calls: they lie so in memory.
  std::sort(places_.begin(), places_.end(), [](const Place& one, const Place& other) {
    return std::tie(one.chain, one.distance, one.message) <
           std::tie(other.chain, other.distance, other.message);
  });
  works_.clear();
  channels_ = 0;
  const auto is_head = [&](std::size_t i) {
    return i == 0 || places_[i].chain != places_[i - 1].chain;
  };
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (is_head(i)) works_.push_back(work_of(*places_[i].message, tag, number));
  }
  chains_ = static_cast<std::uint32_t>(works_.size());
  std::size_t heads = 0, last = 0;
  for (std::size_t i = 0; i < places_.size(); ++i) {
    if (is_head(i)) {
      last = heads++;
      continue;
    }
    works_[last].next = static_cast<std::uint32_t>(works_.size());
    last = works_.size();
    works_.push_back(work_of(*places_[i].message, tag, number));
  }
  for (const device::Work& work : works_) channels_ = std::max(channels_, work.channels);
  places_.clear();
}

}  // namespace gyre
