#include "plan/planner.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/direct.hpp"
#include "collectives/pairwise.hpp"
#include "plan/host_costs.hpp"

namespace gyre {
namespace {

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

std::uint64_t line_elements(DataType type) { return 64 / size_of(type); }

// Cuts `count` elements into equal slices of at most `most`, whole cache lines each.
std::uint64_t even_slice(std::uint64_t count, std::uint64_t most, DataType type) {
  if (count == 0) return most;
  const std::uint64_t pieces = divide_up(count, most);
  const std::uint64_t line = line_elements(type);
  return std::min(most, divide_up(divide_up(count, pieces), line) * line);
}

// `kind`: tiled or parted.
Layout whole(const Call& call, Layout::Kind kind, std::uint32_t chunks, std::uint64_t most) {
  const std::uint64_t longest = divide_up(call.count, chunks);
  Layout layout;
  layout.kind = kind;
  layout.chunks = chunks;
  layout.count = call.count;
  layout.slice = even_slice(longest, most, call.type);
  layout.stride = layout.slice * divide_up(longest, layout.slice);
  return layout;
}

Layout blocked(std::uint32_t chunks, std::uint64_t count, std::uint64_t slice) {
  Layout layout;
  layout.kind = Layout::Kind::blocked;
  layout.chunks = chunks;
  layout.count = count;
  layout.stride = count;
  layout.slice = slice;
  return layout;
}

Layout table(const std::vector<std::uint64_t>& offsets, const std::vector<std::uint64_t>& counts,
             std::uint64_t slice) {
  Layout layout;
  layout.kind = Layout::Kind::table;
  layout.chunks = static_cast<std::uint32_t>(counts.size());
  layout.slice = slice;
  layout.offsets = offsets.data();
  layout.counts = counts.data();
  return layout;
}

// What the user chose for the kind. An average must not overflow on the way, so it is always folded
// in one place.
const Forced* forced_for(const Call& call, const PlanFacts& facts) {
  const Forced& forced = facts.forced[static_cast<std::size_t>(call.kind)];
  if (forced.schedule == nullptr) return nullptr;
  const bool averages = reduces(call.kind) && call.op == ReduceOp::avg;
  return averages && !forced.schedule->fixed_order ? nullptr : &forced;
}

// A call with one count for all ranks in place of one with a count for each.
Call evened(const Call& call, const PlanFacts& facts) {
  Call even = call;
  if (call.blocks == nullptr) return even;
  std::uint64_t elements = 0;
  for (const auto* counts : {&call.blocks->send_counts, &call.blocks->receive_counts}) {
    elements =
        std::max(elements, std::accumulate(counts->begin(), counts->end(), std::uint64_t{0}));
  }
  even.count = elements / static_cast<std::uint64_t>(facts.world);
  if (call.kind == CallKind::all_to_all_v) even.kind = CallKind::all_to_all;
  if (call.kind == CallKind::all_gather_v) even.kind = CallKind::all_gather;
  if (call.kind == CallKind::reduce_scatter_v) even.kind = CallKind::reduce_scatter;
  return even;
}

// Whether NCCL_ALGO leaves the kind a schedule that folds in rank order.
bool leaves_fixed_order(CallKind kind, const PlanFacts& facts) {
  for (int i = 0; i < kAlgorithms; ++i) {
    const auto algorithm = static_cast<Algorithm>(i);
    const CatalogueEntry* schedule = schedule_of(kind, algorithm);
    if (schedule == nullptr || (facts.allowed[index_of(kind)] & bit_of(algorithm)) == 0) continue;
    if (schedule->fixed_order) return true;
  }
  return false;
}

}  // namespace

std::uint64_t largest_slice(DataType type, std::uint64_t slot_bytes) {
  const std::uint64_t line = line_elements(type);
  return std::max(line, slot_bytes / size_of(type) / line * line);
}

bool needs_fixed_order(const Call& call, const PlanFacts& facts) {
  if (!reduces(call.kind)) return false;
  if (facts.reproducible || call.op == ReduceOp::avg) return true;
  return is_low_precision(call.type) && call.kind != CallKind::reduce &&
         leaves_fixed_order(call.kind, facts);
}

Choice choice_for(const Call& call, const PlanFacts& facts) {
  if (!collective_of(call.kind)) return {Algorithm::direct, 0};
  if (const Forced* forced = forced_for(call, facts)) {
    return {forced->algorithm, forced->slice_bytes};
  }
  const std::uint64_t bytes = message_bytes(call.kind, call.count * size_of(call.type),
                                            static_cast<std::uint32_t>(facts.world));
  return facts.choices.at(call.kind, needs_fixed_order(call, facts), size_class(bytes)).choice;
}

double predicted_seconds(const Call& call, int rank, const PlanFacts& facts) {
  if (call.kind == CallKind::send || call.kind == CallKind::receive) {
    const auto other = static_cast<std::uint32_t>(call.root);
    const auto self = static_cast<std::uint32_t>(rank);
    const sim::LinkCost cost = model_of(facts.machine, usual_costs()).link(self, other);
    const double per_byte = std::max(cost.seconds_per_byte, 2 * cost.overhead_per_byte);
    return cost.latency + 2 * cost.overhead +
           static_cast<double>(call.count * size_of(call.type)) * per_byte;
  }
  const Call even = evened(call, facts);
  const bool forced = forced_for(even, facts) != nullptr;
  return facts.choices.seconds(even.kind, !forced && needs_fixed_order(even, facts),
                               message_bytes(even.kind, even.count * size_of(even.type),
                                             static_cast<std::uint32_t>(facts.world)));
}

Plan make_plan(const Call& call, int rank, const PlanFacts& facts, const Choice& choice,
               const Program& program, const Cut& cut) {
  Plan plan;
  plan.algorithm = choice.algorithm;
  const auto world = static_cast<std::uint32_t>(facts.world);
  const std::uint32_t chunks = program.input_chunks;
  std::uint64_t slot_bytes = cut.slot_bytes != 0 ? cut.slot_bytes : facts.slot_bytes;
  if (const CatalogueEntry* schedule = schedule_of(call.kind, choice.algorithm)) {
    plan.by_reference = schedule->by_reference;
    if (choice.slice_bytes != 0) slot_bytes = std::min(slot_bytes, choice.slice_bytes);
    slot_bytes /= schedule->longest_run(world, static_cast<std::uint32_t>(facts.ranks_per_host));
  }
  const std::uint64_t most = largest_slice(call.type, slot_bytes);
  const std::uint64_t slice = even_slice(call.count, most, call.type);
  switch (call.kind) {
    case CallKind::all_reduce:
    case CallKind::reduce:
    case CallKind::broadcast:
      plan.input = plan.output = whole(call, cut.whole, chunks, most);
      break;
    case CallKind::reduce_scatter:
      plan.input = blocked(world, call.count, slice);
      plan.output = blocked(1, call.count, slice);
      break;
    case CallKind::all_gather:
    case CallKind::gather:
      plan.input = blocked(1, call.count, slice);
      plan.output = blocked(world, call.count, slice);
      break;
    case CallKind::scatter:
      plan.input = blocked(world, call.count, slice);
      plan.output = blocked(1, call.count, slice);
      break;
    case CallKind::reduce_scatter_v: {
      const BlockTable& blocks = *call.blocks;
      plan.input = table(blocks.send_offsets, blocks.send_counts, most);
      plan.output = blocked(1, blocks.send_counts[static_cast<std::size_t>(rank)], most);
      plan.tiles = plan.input.tiles();
      return plan;
    }
    case CallKind::all_gather_v: {
      const BlockTable& blocks = *call.blocks;
      plan.input = blocked(1, blocks.receive_counts[static_cast<std::size_t>(rank)], most);
      plan.output = table(blocks.receive_offsets, blocks.receive_counts, most);
      plan.tiles = plan.output.tiles();
      return plan;
    }
    default:
      plan.input = plan.output = blocked(world, call.count, slice);
      break;
  }
  plan.tiles = plan.input.tiles();
  return plan;
}

Program build_program(CallKind kind, Algorithm algorithm, int rank, int world, int root,
                      int ranks_per_host) {
  const auto r = static_cast<std::uint32_t>(rank);
  const auto n = static_cast<std::uint32_t>(world);
  const auto to = static_cast<std::uint32_t>(root);
  switch (kind) {
    case CallKind::all_gather_v:
      return direct::all_gather(r, n);
    case CallKind::reduce_scatter_v:
      return direct::reduce_scatter(r, n);
    case CallKind::send:
      return pairwise::send_to(r, n, to);
    case CallKind::receive:
      return pairwise::receive_from(r, n, to);
    default:
      break;
  }
  return schedule_of(kind, algorithm)->build(r, n, to, static_cast<std::uint32_t>(ranks_per_host));
}

}  // namespace gyre
