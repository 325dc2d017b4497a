#include "plan/planner.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/direct.hpp"
#include "collectives/pairwise.hpp"
#include "plan/algorithm_list.hpp"

namespace gyre {
namespace {

// Beyond this many ranks a fold of all contributions in one step costs more than a ring's hops.
constexpr int kMostDirectRanks = 64;

// Between two ranks one shot moves as many bytes as two shots and waits once instead of twice; with
// more ranks it moves more. Measured: 10 to 35 % faster up to this multiple.
constexpr std::uint64_t kOneShotOfTwo = 8;

std::uint64_t divide_up(std::uint64_t value, std::uint64_t by) { return (value + by - 1) / by; }

std::uint64_t line_elements(DataType type) { return 64 / size_of(type); }

// Cuts `count` elements into equal slices of at most `most`, whole cache lines each.
std::uint64_t even_slice(std::uint64_t count, std::uint64_t most, DataType type) {
  if (count == 0) return most;
  const std::uint64_t pieces = divide_up(count, most);
  const std::uint64_t line = line_elements(type);
  return std::min(most, divide_up(divide_up(count, pieces), line) * line);
}

Layout tiled(const Call& call, std::uint32_t chunks, std::uint64_t most) {
  Layout layout;
  layout.kind = Layout::Kind::tiled;
  layout.chunks = chunks;
  layout.count = call.count;
  layout.slice = even_slice(divide_up(call.count, chunks), most, call.type);
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

bool must_be_ring(const Call& call, const PlanFacts& facts) {
  return (facts.ring_only & bit_of(call.kind)) != 0;
}

bool all_reduce_is_direct(const Call& call, const PlanFacts& facts) {
  if (facts.reproducible || call.op == ReduceOp::avg) return true;
  if (must_be_ring(call, facts) || facts.world > kMostDirectRanks) return false;
  // Two-shot moves as many bytes as a ring, in two hops instead of 2(n-1): better wherever a hop
  // costs no more to a far rank than to a neighbour. It rounds low-precision sums once, a ring at
  // every hop; a reduce, whose root would receive everything, is not worth that over wires.
  return facts.memory_lanes || facts.world == 2 ||
         (is_low_precision(call.type) && call.kind != CallKind::reduce);
}

std::uint64_t most_one_shot_bytes(const PlanFacts& facts) {
  return facts.world == 2 ? facts.one_shot_bytes * kOneShotOfTwo : facts.one_shot_bytes;
}

Algorithm algorithm_for(const Call& call, const PlanFacts& facts) {
  switch (call.kind) {
    case CallKind::all_reduce:
      if (!must_be_ring(call, facts) && facts.world <= kMostDirectRanks &&
          call.count * size_of(call.type) <= most_one_shot_bytes(facts)) {
        return Algorithm::one_shot;
      }
      return all_reduce_is_direct(call, facts) ? Algorithm::two_shot : Algorithm::ring;
    case CallKind::reduce:
    case CallKind::reduce_scatter:
      return all_reduce_is_direct(call, facts) ? Algorithm::direct : Algorithm::ring;
    case CallKind::broadcast:
    case CallKind::all_gather:
      return !must_be_ring(call, facts) && facts.memory_lanes && facts.world <= kMostDirectRanks
                 ? Algorithm::direct
                 : Algorithm::ring;
    case CallKind::all_gather_v:
    case CallKind::reduce_scatter_v:
      return Algorithm::direct;
    default:
      return Algorithm::pairwise;
  }
}

// What the user chose for the kind. An average must not overflow on the way, so it is always folded
// in one place.
const Forced* forced_for(const Call& call, const PlanFacts& facts) {
  const Forced& forced = facts.forced[static_cast<std::size_t>(call.kind)];
  if (forced.schedule == nullptr) return nullptr;
  const bool averages = reduces(call.kind) && call.op == ReduceOp::avg;
  return averages && !forced.schedule->fixed_order ? nullptr : &forced;
}

std::uint32_t default_chunks(CallKind kind, Algorithm algorithm, std::uint32_t world) {
  return kind == CallKind::all_reduce && algorithm != Algorithm::one_shot ? world : 1;
}

}  // namespace

std::string_view name_of(Algorithm algorithm) {
  constexpr std::string_view kNames[kAlgorithms] = {
      "ring",      "one_shot",    "two_shot",    "direct",           "pairwise",           "star",
      "two_rings", "tree",        "double_tree", "halving_doubling", "recursive_doubling", "bruck",
      "binomial",  "hierarchical"};
  return kNames[static_cast<int>(algorithm)];
}

std::optional<CollectiveKind> collective_of(CallKind kind) {
  switch (kind) {
    case CallKind::all_reduce:
      return CollectiveKind::all_reduce;
    case CallKind::reduce:
      return CollectiveKind::reduce;
    case CallKind::broadcast:
      return CollectiveKind::broadcast;
    case CallKind::all_gather:
      return CollectiveKind::all_gather;
    case CallKind::reduce_scatter:
      return CollectiveKind::reduce_scatter;
    case CallKind::all_to_all:
      return CollectiveKind::all_to_all;
    case CallKind::gather:
      return CollectiveKind::gather;
    case CallKind::scatter:
      return CollectiveKind::scatter;
    default:
      return std::nullopt;
  }
}

std::uint64_t largest_slice(DataType type, std::uint64_t slot_bytes) {
  const std::uint64_t line = line_elements(type);
  return std::max(line, slot_bytes / size_of(type) / line * line);
}

Plan make_plan(const Call& call, int rank, const PlanFacts& facts) {
  Plan plan;
  const Forced* forced = forced_for(call, facts);
  plan.algorithm = forced != nullptr ? forced->algorithm : algorithm_for(call, facts);
  plan.by_reference = plan.algorithm != Algorithm::one_shot;
  const auto world = static_cast<std::uint32_t>(facts.world);
  std::uint32_t chunks = default_chunks(call.kind, plan.algorithm, world);
  std::uint64_t slot_bytes = facts.slot_bytes;
  if (forced != nullptr) {
    const auto per_host = static_cast<std::uint32_t>(facts.ranks_per_host);
    const CatalogueEntry& schedule = *forced->schedule;
    plan.by_reference = schedule.by_reference;
    chunks = schedule.build(0, world, 0, per_host).input_chunks;
    slot_bytes /= schedule.longest_run(world, per_host);
  }
  const std::uint64_t most = largest_slice(call.type, slot_bytes);
  const std::uint64_t slice = even_slice(call.count, most, call.type);
  switch (call.kind) {
    case CallKind::all_reduce:
    case CallKind::reduce:
    case CallKind::broadcast:
      plan.input = plan.output = tiled(call, chunks, most);
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
  const CatalogueEntry* schedule =
      find_schedule(name_of(algorithm), collective_of(kind).value_or(CollectiveKind::all_to_all));
  return schedule->build(r, n, to, static_cast<std::uint32_t>(ranks_per_host));
}

}  // namespace gyre
