#include "plan/device_choice.hpp"

#include <algorithm>
#include <bit>

namespace gyre {
namespace {

// Below, a block spends more on a step's waits than on its data.
constexpr std::uint64_t kLeastSlice = 4 << 10;
// What all ranks send to all others at once, at most; beyond, every byte is worth being read once.
constexpr std::uint64_t kOneShotBytes = 256 << 10;
constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

Algorithm usual_algorithm(const Call& call, const PlanFacts& facts) {
  switch (call.kind) {
    case CallKind::all_reduce: {
      const std::uint64_t sent =
          call.count * size_of(call.type) * static_cast<std::uint64_t>(facts.world - 1);
      const bool one_shot = sent <= std::min(kOneShotBytes, facts.one_shot_bytes);
      return one_shot ? Algorithm::one_shot : Algorithm::two_shot;
    }
    case CallKind::gather:
    case CallKind::scatter:
      return Algorithm::pairwise;
    default:
      return Algorithm::direct;
  }
}

// Whether all that the program sends stays where it is until the end of the call, so that peers can
// read it there whatever its length.
bool only_refers(const Program& program) {
  return std::all_of(program.steps, program.steps + program.step_count, [](const Step& step) {
    if (step.send.count == 0) return true;
    const bool one =
        step.source.exists() ? step.source.count == 1 && step.source.run == Run::fixed : true;
    if (step.target.exists()) {
      return one && step.target.side == Side::output && step.target.count == 1 &&
             step.target.run == Run::fixed;
    }
    return one && step.receive.count == 0 && step.source.side != Side::scratch;
  });
}

// How long a chunk of the whole call is, of the longest.
std::uint64_t chunk_bytes(const Call& call, const Program& program) {
  const std::uint64_t element = size_of(call.type);
  if (call.blocks != nullptr) {
    std::uint64_t longest = 0;
    for (const auto* counts : {&call.blocks->send_counts, &call.blocks->receive_counts}) {
      for (const std::uint64_t count : *counts) longest = std::max(longest, count);
    }
    return longest * element;
  }
  const bool tiled = call.kind == CallKind::all_reduce || call.kind == CallKind::reduce ||
                     call.kind == CallKind::broadcast;
  return divide_up(call.count, tiled ? program.input_chunks : 1) * element;
}

// A slice for each channel, but none so short that its waits cost more than its data.
std::uint64_t slice_for(std::uint64_t bytes, std::uint32_t channels, std::uint64_t longest) {
  return std::clamp(divide_up(bytes, channels), std::min(kLeastSlice, longest), longest);
}

std::uint32_t channels_for(std::uint64_t tiles, std::uint32_t channels) {
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(tiles, 1, channels));
}

}  // namespace

Algorithm device_algorithm(const Call& call, const PlanFacts& facts) {
  if (!collective_of(call.kind)) return Algorithm::direct;
  const Forced& forced = facts.forced[index_of(call.kind)];
  const bool averages = reduces(call.kind) && call.op == ReduceOp::avg;
  if (forced.schedule != nullptr && (!averages || forced.schedule->fixed_order)) {
    return forced.algorithm;
  }
  return usual_algorithm(call, facts);
}

DevicePlan device_plan(const Call& call, int rank, const PlanFacts& facts,
                       const DeviceFacts& device, Algorithm algorithm, const Program& program) {
  const CatalogueEntry* schedule = schedule_of(call.kind, algorithm);
  const bool refers = schedule == nullptr || schedule->by_reference;
  // A scaled operand is sent as what it becomes.
  const bool long_slices =
      device.one_process && refers && only_refers(program) && call.op != ReduceOp::premulsum;
  const std::uint64_t longest = long_slices ? kLongest : device.slot_bytes;
  const std::uint32_t channels =
      std::max(1U, device.channels / std::max<std::uint32_t>(1, program.strand_count));
  Choice choice{algorithm, slice_for(chunk_bytes(call, program), channels, longest)};
  const Forced& forced = facts.forced[index_of(call.kind)];
  if (forced.schedule == schedule && schedule != nullptr && forced.slice_bytes != 0) {
    choice.slice_bytes = std::min(choice.slice_bytes, forced.slice_bytes);
  }
  DevicePlan result;
  result.plan = make_plan(call, rank, facts, choice, program, longest);
  result.channels = channels_for(result.plan.tiles, channels);
  return result;
}

MessageSpread message_spread(std::uint32_t world, const DeviceFacts& device) {
  MessageSpread spread;
  spread.classes = std::clamp(device.channels / 2, 1U, std::max(1U, world - 1));
  spread.channels = std::max(1U, device.channels / (2 * spread.classes));
  return spread;
}

Plan device_message_plan(const Call& message, const MessageSpread& spread,
                         const DeviceFacts& device) {
  const std::uint64_t longest = device.one_process ? kLongest : device.slot_bytes;
  const std::uint64_t bytes = message.count * size_of(message.type);
  Plan plan;
  plan.input.kind = Layout::Kind::blocked;
  plan.input.count = plan.input.stride = message.count;
  plan.input.slice = largest_slice(message.type, slice_for(bytes, spread.channels, longest));
  plan.output = plan.input;
  plan.tiles = plan.input.tiles();
  return plan;
}

}  // namespace gyre
