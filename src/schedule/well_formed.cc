#include "schedule/well_formed.hpp"

#include <fmt/format.h>

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

Result<void> check_step(const Program& program, const Step& step, std::uint32_t index) {
  const auto bad_peers = [&](const Peers& peers) {
    return peers.first >= program.world || peers.count > program.world;
  };
  const auto bad_chunk = [](const Chunk& chunk, std::uint32_t chunks) {
    return chunk.index != kNoChunk &&
           (chunk.index < 0 || static_cast<std::uint32_t>(chunk.index) >= chunks);
  };
  if (bad_peers(step.receive) || bad_peers(step.send)) {
    return malformed(program, fmt::format("step {} names ranks outside the world", index));
  }
  if (bad_chunk(step.source, program.input_chunks) ||
      bad_chunk(step.target, program.output_chunks) ||
      bad_chunk(step.offer, program.output_chunks)) {
    return malformed(program, fmt::format("step {} names a chunk that does not exist", index));
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

Result<void> check_resolved(const Program& program) {
  LaneEnds receiving(program.world), sending(program.world);
  for (std::uint32_t s = 0; s < program.strand_count; ++s) {
    for (Cursor at(program, s, 1); !at.done(); at.next()) {
      const ResolvedStep step = at.current();
      const std::uint32_t received = peers_of(step.receive, program.rank, program.world).size();
      const std::uint32_t sent = peers_of(step.send, program.rank, program.world).size();
      const auto where = [&](std::string_view what) {
        return malformed(program, fmt::format("loop {}, trip {}, step {}: {}", at.loop(), at.trip(),
                                              at.step(), what));
      };
      if (received == 0 && step.source == kNoChunk) return where("it has no operand");
      if (sent == 0 && step.target == kNoChunk) return where("its value goes nowhere");
      if (step.offer != kNoChunk && (received != 0 || step.target != kNoChunk || sent != 1)) {
        return where("it offers a chunk, but does more than send to one rank");
      }
      const bool wraps = std::uint32_t{step.receive.first} + step.receive.count > program.world;
      if (wraps && step.receive.covers(program.rank, program.world)) {
        return where("it receives from a range that covers the own rank and wraps around");
      }
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
  for (std::uint32_t i = 0; i < program.step_count; ++i) {
    GYRE_TRY(check_step(program, program.steps[i], i));
  }
  return check_resolved(program);
}

}  // namespace gyre
