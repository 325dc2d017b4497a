#include "plan/device_choice.hpp"

#include <algorithm>
#include <optional>

#include "collectives/pairwise.hpp"
#include "kernels/device/work.hpp"

namespace gyre {
namespace {

// Below, a block spends more on a step's waits than on its data.
constexpr std::uint64_t kLeastSlice = 4 << 10;
constexpr std::uint64_t kLeastStripe = 16 << 10;
// What a rank sends to all others at once, at most, in the short form and else; beyond, every byte
// is worth being read once.
constexpr std::uint64_t kExchangeBytes = 1 << 20;
constexpr std::uint64_t kOneShotBytes = 128 << 10;
constexpr std::uint32_t kFewThreads = 128;  // at least as many as there can be ranks
static_assert(kFewThreads >= device::kMostPeers);
constexpr std::uint64_t kLongest = std::uint64_t{1} << 40;

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

// On a device, neighbours in a tile are no nearer to each other than anything else.
Cut device_cut(std::uint64_t slot_bytes) {
  return {.slot_bytes = slot_bytes, .whole = Layout::Kind::tiled};
}

// Whether an exchange can: it folds once, and has no place for what it would fold again.
bool has_short_form(const Call& call, const PlanFacts& facts) {
  if (!facts.short_form[index_of(call.kind)] || facts.world < 2) return false;
  if (!reduces(call.kind)) return true;
  if (call.op == ReduceOp::premulsum) return false;
  const bool sums_again = call.type == DataType::bfloat16 || call.type == DataType::float64;
  return call.op != ReduceOp::avg || !sums_again;
}

std::uint64_t sent_to_all(const Call& call, const PlanFacts& facts) {
  return call.count * size_of(call.type) * static_cast<std::uint64_t>(facts.world - 1);
}

// The algorithm of which an exchange is the short form, where the kind has one.
std::optional<Algorithm> long_form(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
      return Algorithm::one_shot;
    case CallKind::all_gather:
    case CallKind::reduce_scatter:
    case CallKind::all_to_all:
    case CallKind::broadcast:
    case CallKind::reduce:
      return Algorithm::direct;
    case CallKind::gather:
    case CallKind::scatter:
      return Algorithm::pairwise;
    default:
      return std::nullopt;
  }
}

Algorithm usual_algorithm(const Call& call, const PlanFacts& facts) {
  switch (call.kind) {
    case CallKind::all_reduce: {
      const std::uint64_t most = has_short_form(call, facts) ? kExchangeBytes : kOneShotBytes;
      const bool one_shot = sent_to_all(call, facts) <= std::min(most, facts.one_shot_bytes);
      return one_shot ? Algorithm::one_shot : Algorithm::two_shot;
    }
    case CallKind::gather:
    case CallKind::scatter:
      return Algorithm::pairwise;
    default:
      return Algorithm::direct;
  }
}

bool is_one_chunk(const Chunk& chunk) { return chunk.count == 1 && chunk.run == Run::fixed; }

// Whether what the step sends stays where it is until the end of the call, so that peers can read
// it there whatever its length.
bool only_refers(const Step& step) {
  if (step.send.count == 0) return true;
  if (step.target.exists()) return step.target.side == Side::output && is_one_chunk(step.target);
  return step.receive.count == 0 && step.source.side != Side::scratch && is_one_chunk(step.source);
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

// Of the call as nccl.h counts it, or the longest block that it has a count for.
std::uint64_t call_bytes(const Call& call, std::uint64_t chunk) {
  return call.blocks != nullptr ? chunk : call.count * size_of(call.type);
}

// Whether every element is folded in the same order however the buffers are cut: a call must not
// give other bits once its buffers are mapped.
bool any_cut_folds_alike(const Call& call, Algorithm algorithm) {
  const CatalogueEntry* schedule = schedule_of(call.kind, algorithm);
  return !reduces(call.kind) || schedule == nullptr || schedule->fixed_order;
}

// A slice for each channel, but none so short that its waits cost more than its data.
std::uint64_t slice_for(std::uint64_t bytes, std::uint32_t channels, std::uint64_t longest) {
  return std::clamp(divide_up(bytes, channels), std::min(kLeastSlice, longest), longest);
}

// How many blocks share chunks of `bytes`: none of them for little, or for no tile.
std::uint32_t channels_at_work(const DevicePlan& plan, std::uint64_t bytes,
                               std::uint32_t channels) {
  const std::uint64_t enough = plan.striped || plan.asks ? bytes / kLeastStripe : plan.plan.tiles;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(enough, 1, channels));
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

DeviceSchedule device_schedule(const Call& call, const PlanFacts& facts, Algorithm algorithm) {
  const CatalogueEntry* schedule = schedule_of(call.kind, algorithm);
  DeviceSchedule all;
  all.only_refers = schedule == nullptr || schedule->by_reference;
  for (int rank = 0; rank < facts.world; ++rank) {
    const Program program =
        build_program(call.kind, algorithm, rank, facts.world, call.root, facts.ranks_per_host);
    all.strands = std::max<std::uint32_t>(all.strands, program.strand_count);
    all.has_scratch = all.has_scratch || program.scratch_chunks != 0;
    all.only_refers =
        all.only_refers && std::all_of(program.steps, program.steps + program.step_count,
                                       [](const Step& step) { return only_refers(step); });
  }
  return all;
}

DevicePlan device_plan(const Call& call, int rank, const PlanFacts& facts,
                       const DeviceFacts& device, Algorithm algorithm,
                       const DeviceSchedule& schedule, const Program& program) {
  const Forced& forced = facts.forced[index_of(call.kind)];
  const bool cut = forced.schedule != nullptr && forced.slice_bytes != 0;
  const std::uint32_t channels = std::max(1U, device.channels / schedule.strands);
  const std::uint64_t bytes = chunk_bytes(call, program);
  DevicePlan result;
  const std::uint64_t lines = divide_up(call.count * size_of(call.type), device::kLinePayload);
  // An all-reduce that is too long for it is no one-shot, unless the user says so.
  const bool is_short =
      call.kind == CallKind::all_reduce || sent_to_all(call, facts) <= kExchangeBytes;
  const std::uint64_t most_lines =
      std::uint64_t{channels} * device::kExchangeLines * device::kExchangePasses;
  result.exchange = long_form(call.kind) == algorithm && !cut && has_short_form(call, facts) &&
                    is_short && lines <= most_lines;
  if (result.exchange) {
    result.plan =
        make_plan(call, rank, facts, {algorithm, kLongest}, program, device_cut(kLongest));
    result.channels = static_cast<std::uint32_t>(
        std::clamp<std::uint64_t>(divide_up(lines, device::kThreads), 1, channels));
    // A small block begins sooner.
    if (lines <= kFewThreads) result.threads = std::min(kFewThreads, device::kThreads);
    return result;
  }
  // A scaled operand is sent as what it becomes.
  const bool refers = schedule.only_refers && call.op != ReduceOp::premulsum && !cut;
  result.striped = device.one_process && refers;
  result.asks = !device.one_process && refers && !schedule.has_scratch &&
                any_cut_folds_alike(call, algorithm) && call_bytes(call, bytes) >= device.map_bytes;
  if (result.asks) {
    const Plan mapped =
        make_plan(call, rank, facts, {algorithm, kLongest}, program, device_cut(kLongest));
    result.mapped_slice = mapped.input.slice;
    result.mapped_tiles = mapped.tiles;
  }
  Choice choice{algorithm, kLongest};
  if (!result.striped) {
    choice.slice_bytes = slice_for(bytes, channels, device.slot_bytes);
    if (cut) choice.slice_bytes = std::min(choice.slice_bytes, forced.slice_bytes);
  }
  result.plan = make_plan(call, rank, facts, choice, program, device_cut(choice.slice_bytes));
  result.channels = channels_at_work(result, bytes, channels);
  return result;
}

Program message_program(int rank, int world) {
  const auto self = static_cast<std::uint32_t>(rank), ranks = static_cast<std::uint32_t>(world);
  return pairwise::send_and_receive(self, ranks);
}

MessageSpread message_spread(std::uint32_t world, const DeviceFacts& device) {
  MessageSpread spread;
  spread.classes = std::clamp(device.channels / 2, 1U, std::max(1U, world - 1));
  spread.channels = std::max(1U, device.channels / (2 * spread.classes));
  return spread;
}

DevicePlan device_message_plan(const Call& message, const MessageSpread& spread,
                               const DeviceFacts& device) {
  const std::uint64_t bytes = message.count * size_of(message.type);
  DevicePlan result;
  result.striped = device.one_process;
  Layout& layout = result.plan.input;
  layout.kind = Layout::Kind::blocked;
  layout.count = layout.stride = message.count;
  layout.slice = largest_slice(
      message.type,
      result.striped ? kLongest : slice_for(bytes, spread.channels, device.slot_bytes));
  result.plan.output = layout;
  result.plan.tiles = layout.tiles();
  result.channels = channels_at_work(result, bytes, spread.channels);
  return result;
}

}  // namespace gyre
