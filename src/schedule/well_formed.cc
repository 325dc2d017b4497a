#include "schedule/well_formed.hpp"

#include <fmt/format.h>

#include <bit>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <vector>

#include "schedule/cursor.hpp"

namespace gyre {
namespace {

// One strand sits at an end of a lane; `kNobody` where none does yet.
constexpr std::uint8_t kNobody = 0xff;

// No sensible schedule comes near these; they bound the time that any program can take to check.
constexpr std::uint64_t kMostStepsOfATile = std::uint64_t{1} << 24;
constexpr std::uint32_t kLargestLag = 64;

Error malformed(const Program& program, std::string_view what) {
  return {Status::invalid_argument, fmt::format("program of rank {} of {} is malformed: {}",
                                                program.rank, program.world, what)};
}

Result<void> check_tables(const Program& program) {
  if (program.world == 0 || program.rank >= program.world) {
    return malformed(program, "its rank is not in the world");
  }
  if (program.input_chunks == 0 || program.output_chunks == 0) {
    return malformed(program, "a side has no chunks");
  }
  if (program.input_chunks > kMaxChunks || program.output_chunks > kMaxChunks ||
      program.scratch_chunks > kMaxChunks) {
    return malformed(program, "a side has more chunks than can be named");
  }
  if (program.step_count > kMaxSteps || program.loop_count > kMaxLoops ||
      program.strand_count > kMaxStrands) {
    return malformed(program, "it has more steps, loops or strands than fit");
  }
  std::uint32_t loops = 0;
  for (std::uint32_t s = 0; s < program.strand_count; ++s) {
    if (program.strands[s].first_loop != loops) {
      return malformed(program, fmt::format("strand {} does not begin where the last ends", s));
    }
    loops += program.strands[s].loops;
  }
  if (loops != program.loop_count) return malformed(program, "its strands do not hold all loops");
  std::uint32_t steps = 0;
  std::uint64_t trips = 0;
  for (std::uint32_t l = 0; l < program.loop_count; ++l) {
    const Loop& loop = program.loops[l];
    if (loop.first_step != steps || loop.steps == 0 || loop.trips == 0) {
      return malformed(program, fmt::format("loop {} has no steps or trips of its own", l));
    }
    steps += loop.steps;
    trips += std::uint64_t{loop.trips} * loop.steps;
    if (loop.lag > kLargestLag) return malformed(program, fmt::format("the lag of loop {}", l));
  }
  if (trips > kMostStepsOfATile) return malformed(program, "it has too many trips");
  if (steps != program.step_count) return malformed(program, "its loops do not hold all steps");
  return {};
}

// All trips of a loop with rounds are rounds of its span.
bool rounds_fit(const Loop& loop) {
  const Rounds& rounds = loop.rounds;
  if (rounds.span == 0) return rounds.first == 0 && rounds.advance == 0;
  const auto count = static_cast<std::int64_t>(std::bit_width(rounds.span - 1U));
  const std::int64_t last = rounds.first + (std::int64_t{loop.trips} - 1) * rounds.advance;
  return rounds.first < count && last >= 0 && last < count;
}

bool peers_fit(const Peers& peers, const Program& program, bool in_rounds) {
  if (peers.first >= program.world || peers.count > program.world) return false;
  if (peers.stride == 0 || peers.stride > program.world) return false;
  return peers.reach == Reach::fixed || (in_rounds && peers.count == 1);
}

// Chunks of one reference are distinct.
bool chunk_fits(const Chunk& chunk, const Program& program, bool in_rounds) {
  if (!chunk.exists()) return true;
  const std::uint32_t chunks = chunks_of(program, chunk.side);
  if (chunk.index >= chunks || chunk.count == 0 || chunk.stride == 0) return false;
  if (chunk.run != Run::fixed) return in_rounds && chunk.count == 1 && chunk.stride == 1;
  return (std::uint64_t{chunk.count} - 1) * chunk.stride < chunks;
}

Result<void> check_step(const Program& program, const Loop& loop, const Step& step,
                        std::uint32_t index) {
  const bool in_rounds = loop.rounds.span != 0;
  if (!peers_fit(step.receive, program, in_rounds) || !peers_fit(step.send, program, in_rounds)) {
    return malformed(program, fmt::format("step {} names ranks outside the world", index));
  }
  if (!chunk_fits(step.source, program, in_rounds) ||
      !chunk_fits(step.target, program, in_rounds) ||
      (step.offer.exists() && step.offer.index >= program.output_chunks)) {
    return malformed(program, fmt::format("step {} names a chunk that does not exist", index));
  }
  if (step.target.exists() && step.target.side == Side::input) {
    return malformed(program, fmt::format("step {} stores in the input", index));
  }
  const bool both = step.source.exists() && step.target.exists();
  const bool in_runs = step.source.run != Run::fixed;
  if (both && (in_runs != (step.target.run != Run::fixed) ||
               (!in_runs && step.source.count != step.target.count))) {
    return malformed(program, fmt::format("step {} reads and stores different lengths", index));
  }
  if (step.token != Token::none && program.strand_count != 2) {
    return malformed(program, fmt::format("step {} has no other strand to meet", index));
  }
  return {};
}

Result<void> check_steps(const Program& program) {
  for (std::uint32_t l = 0; l < program.loop_count; ++l) {
    const Loop& loop = program.loops[l];
    if (!rounds_fit(loop)) return malformed(program, fmt::format("the rounds of loop {}", l));
    for (std::uint32_t i = loop.first_step; i < std::uint32_t{loop.first_step} + loop.steps; ++i) {
      GYRE_TRY(check_step(program, loop, program.steps[i], i));
    }
  }
  return {};
}

// Who sits at the lane ends of one direction.
class LaneEnds {
 public:
  explicit LaneEnds(std::uint32_t world) : owner_(world, kNobody) {}

  // Whether `strand` may use the lanes of `range`.
  bool take(PeerRange range, std::uint32_t strand, const Program& program) {
    for (const std::uint32_t peer : peers_of(range, program.rank, program.world)) {
      if (owner_[peer] != kNobody && owner_[peer] != strand) return false;
      owner_[peer] = static_cast<std::uint8_t>(strand);
    }
    return true;
  }

 private:
  std::vector<std::uint8_t> owner_;
};

bool repeats(const PeerRange& range, std::uint32_t world) {
  return std::uint64_t{range.count} * range.stride > world &&
         range.count > world / std::gcd(std::uint32_t{range.stride}, world);
}

// What is wrong with a step in one of its trips, or nothing.
std::string_view fault_of(const ResolvedStep& step, const Program& program) {
  if (step.receive.first >= program.world || step.send.first >= program.world) {
    return "its partner is not in the world";
  }
  const std::uint32_t received = peers_of(step.receive, program.rank, program.world).size();
  const std::uint32_t sent = peers_of(step.send, program.rank, program.world).size();
  if (received == 0 && step.source == kNoChunk) return "it has no operand";
  if (sent == 0 && step.target == kNoChunk) return "its value goes nowhere";
  if (step.source == kNoChunk && step.target == kNoChunk) {
    return "it only forwards, so that no chunk says how long its value is";
  }
  if (step.offer != kNoChunk && (received != 0 || step.target != kNoChunk || sent != 1)) {
    return "it offers a chunk, but does more than send to one rank";
  }
  if (step.offer != kNoChunk && (step.chunks != 1 || step.source_side == Side::scratch)) {
    return "it offers a chunk for what is not one chunk of a buffer";
  }
  for (const PeerRange& range : {step.receive, step.send}) {
    if (range.stride == 1) continue;
    if (range.covers(program.rank, program.world)) return "it strides over the own rank";
    if (repeats(range, program.world)) return "it strides over a rank twice";
  }
  const bool wraps = std::uint32_t{step.receive.first} + step.receive.count > program.world;
  if (wraps && step.receive.covers(program.rank, program.world)) {
    return "it receives from a range that covers the own rank and wraps around";
  }
  if (step.chunks > kMaxChunks ||
      (step.source != kNoChunk && step.chunks > chunks_of(program, step.source_side)) ||
      (step.target != kNoChunk && step.chunks > chunks_of(program, step.target_side))) {
    return "it takes a chunk twice";
  }
  return {};
}

Result<void> check_resolved(const Program& program) {
  LaneEnds receiving(program.world), sending(program.world);
  for (std::uint32_t s = 0; s < program.strand_count; ++s) {
    for (Cursor at(program, s, 1); !at.done(); at.next()) {
      const ResolvedStep step = at.current();
      const auto where = [&](std::string_view what) {
        return malformed(program, fmt::format("loop {}, trip {}, step {}: {}", at.loop(), at.trip(),
                                              at.step(), what));
      };
      if (const auto fault = fault_of(step, program); !fault.empty()) return where(fault);
      if (!receiving.take(step.receive, s, program) || !sending.take(step.send, s, program)) {
        return where("it uses a lane of another strand");
      }
    }
  }
  return {};
}

}  // namespace

Result<void> check_well_formed(const Program& program) {
  GYRE_TRY(check_tables(program));
  GYRE_TRY(check_steps(program));
  return check_resolved(program);
}

}  // namespace gyre
