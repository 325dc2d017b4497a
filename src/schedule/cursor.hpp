// The only decoder of strands, for every reader: verifier, printer, host executor, kernels.
//
//   for (Cursor at(program, strand, tiles); !at.done(); at.next()) run(at.current());
#pragma once

#include <cstdint>
#include <type_traits>

#include "schedule/step.hpp"

namespace gyre {

// `count` consecutive ranks, modulo the world. peers_of() walks them without the own rank.
struct PeerRange {
  std::uint16_t first = 0;
  std::uint16_t count = 0;

  // Whether `rank` lies in the range.
  constexpr bool covers(std::uint32_t rank, std::uint32_t world) const {
    return (rank >= first ? rank - first : rank + world - first) < count;
  }
};

// The ranks of a range in ascending order from `first`, modulo the world, without `self`: the order
// in which operands are folded.
//
//   for (std::uint32_t peer : peers_of(step.receive, rank, world)) ...
class PeersOf {
 public:
  class Iterator {
   public:
    constexpr std::uint32_t operator*() const { return peer_; }
    constexpr Iterator& operator++() {
      advance();
      if (left_ != 0 && peer_ == self_) advance();
      return *this;
    }
    constexpr bool operator!=(const Iterator& other) const { return left_ != other.left_; }

   private:
    friend class PeersOf;
    constexpr Iterator(std::uint32_t first, std::uint32_t count, std::uint32_t self,
                       std::uint32_t world)
        : peer_(first), left_(count), self_(self), world_(world) {
      if (left_ != 0 && peer_ == self_) advance();
    }
    constexpr void advance() {
      --left_;
      if (++peer_ == world_) peer_ = 0;
    }

    std::uint32_t peer_, left_, self_, world_;
  };

  constexpr PeersOf(PeerRange range, std::uint32_t self, std::uint32_t world)
      : range_(range), self_(self), world_(world) {}
  constexpr Iterator begin() const { return {range_.first, range_.count, self_, world_}; }
  constexpr Iterator end() const { return {range_.first, 0, self_, world_}; }
  constexpr std::uint32_t size() const {
    return range_.count - (range_.covers(self_, world_) ? 1U : 0U);
  }

 private:
  PeerRange range_;
  std::uint32_t self_, world_;
};

constexpr PeersOf peers_of(PeerRange range, std::uint32_t self, std::uint32_t world) {
  return {range, self, world};
}

// A step with its trip and tile filled in.
struct ResolvedStep {
  PeerRange receive;
  PeerRange send;
  std::int32_t source = kNoChunk;
  std::int32_t target = kNoChunk;
  std::int32_t offer = kNoChunk;
  bool finish = false;
  std::uint64_t tile = 0;
};

// Walks one strand of a program over `tiles` tiles. Refers to the program, which must outlive it.
class Cursor {
 public:
  Cursor() = default;
  constexpr Cursor(const Program& program, std::uint32_t strand, std::uint64_t tiles)
      : program_(&program),
        tiles_(tiles),
        first_loop_(program.strands[strand].first_loop),
        end_loop_(static_cast<std::uint16_t>(first_loop_ + program.strands[strand].loops)),
        loop_(first_loop_) {
    std::uint64_t largest_lag = 0;
    for (std::uint16_t i = first_loop_; i != end_loop_; ++i) {
      if (program.loops[i].lag > largest_lag) largest_lag = program.loops[i].lag;
    }
    passes_ = tiles == 0 ? 0 : tiles + largest_lag;
    skip_idle_loops();
  }

  constexpr bool done() const { return pass_ >= passes_; }

  // Precondition: !done().
  constexpr ResolvedStep current() const {
    const Loop& loop = program_->loops[loop_];
    const Step& step = program_->steps[loop.first_step + step_];
    ResolvedStep resolved;
    resolved.receive = range(step.receive);
    resolved.send = range(step.send);
    resolved.source = chunk(step.source, program_->input_chunks);
    resolved.target = chunk(step.target, program_->output_chunks);
    resolved.offer = chunk(step.offer, program_->output_chunks);
    resolved.finish = step.finish;
    resolved.tile = pass_ - loop.lag;
    return resolved;
  }

  // Precondition: !done().
  constexpr void next() {
    const Loop& loop = program_->loops[loop_];
    if (++step_ != loop.steps) return;
    step_ = 0;
    if (++trip_ != loop.trips) return;
    trip_ = 0;
    ++loop_;
    skip_idle_loops();
  }

  // Where it stands, for state dumps.
  constexpr std::uint64_t pass() const { return pass_; }
  constexpr std::uint32_t loop() const { return loop_; }
  constexpr std::uint32_t trip() const { return trip_; }
  constexpr std::uint32_t step() const { return step_; }

 private:
  // Moves on to the next loop that has steps, trips and a tile in its pass.
  constexpr void skip_idle_loops() {
    while (pass_ < passes_) {
      for (; loop_ != end_loop_; ++loop_) {
        const Loop& loop = program_->loops[loop_];
        const bool has_tile = pass_ >= loop.lag && pass_ - loop.lag < tiles_;
        if (has_tile && loop.trips != 0 && loop.steps != 0) return;
      }
      loop_ = first_loop_;
      ++pass_;
    }
  }

  // (first + trip * advance) modulo `size`. The usual advances of one never reach the division.
  constexpr std::uint32_t advanced(std::int64_t first, std::int64_t advance,
                                   std::int64_t size) const {
    std::int64_t value = first + static_cast<std::int64_t>(trip_) * advance;
    if (value < 0) value += size;
    if (value >= size) value -= size;
    if (value < 0 || value >= size) value = ((value % size) + size) % size;
    return static_cast<std::uint32_t>(value);
  }
  constexpr PeerRange range(const Peers& peers) const {
    if (peers.count == 0) return {};
    return {static_cast<std::uint16_t>(advanced(peers.first, peers.advance, program_->world)),
            peers.count};
  }
  constexpr std::int32_t chunk(const Chunk& chunk, std::uint32_t chunks) const {
    if (chunk.index == kNoChunk) return kNoChunk;
    return static_cast<std::int32_t>(advanced(chunk.index, chunk.advance, chunks));
  }

  const Program* program_ = nullptr;
  std::uint64_t tiles_ = 0;
  std::uint64_t pass_ = 0;
  std::uint64_t passes_ = 0;
  std::uint32_t trip_ = 0;
  std::uint16_t first_loop_ = 0;
  std::uint16_t end_loop_ = 0;
  std::uint16_t loop_ = 0;
  std::uint16_t step_ = 0;
};

static_assert(std::is_trivially_copyable_v<Cursor>);

}  // namespace gyre
