// The only decoder of strands, for every reader: verifier, printer, host executor, kernels.
//
//   for (Cursor at(program, strand, tiles); !at.done(); at.next()) run(at.current());
#pragma once

#include <cstdint>
#include <type_traits>

#include "schedule/step.hpp"

namespace gyre {

// `count` ranks, `stride` apart, modulo the world. peers_of() walks them without the own rank.
struct PeerRange {
  std::uint16_t first = 0;
  std::uint16_t count = 0;
  std::uint16_t stride = 1;

  // Whether `rank` lies in the range.
  constexpr bool covers(std::uint32_t rank, std::uint32_t world) const {
    const std::uint32_t distance = rank >= first ? rank - first : rank + world - first;
    return stride == 1 ? distance < count : strides_to(distance, world);
  }

 private:
  constexpr bool strides_to(std::uint32_t distance, std::uint32_t world) const {
    for (std::uint32_t i = 0, at = 0; i < count; ++i, at = (at + stride) % world) {
      if (at == distance) return true;
    }
    return false;
  }
};

// The ranks of a range in its order from `first` on, modulo the world, without `self`: the order in
// which operands are folded.
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
    constexpr Iterator(PeerRange range, std::uint32_t self, std::uint32_t world)
        : peer_(range.first),
          left_(range.count),
          stride_(range.stride),
          self_(self),
          world_(world) {
      if (left_ != 0 && peer_ == self_) advance();
    }
    constexpr void advance() {
      --left_;
      peer_ += stride_;
      if (peer_ >= world_) peer_ -= world_;
    }

    std::uint32_t peer_, left_, stride_, self_, world_;
  };

  constexpr PeersOf(PeerRange range, std::uint32_t self, std::uint32_t world)
      : range_(range), self_(self), world_(world) {}
  constexpr Iterator begin() const { return {range_, self_, world_}; }
  constexpr Iterator end() const { return {{range_.first, 0}, self_, world_}; }
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

// The distance of a round and the chunks it moves.
struct Round {
  std::uint32_t distance = 0;
  std::uint32_t chunks = 1;
};

constexpr Round round_of(const Rounds& rounds, std::uint32_t trip) {
  const std::int64_t round = rounds.first + std::int64_t{trip} * rounds.advance;
  const auto halved = [&](std::int64_t times) {
    if (times < 0 || times > 16) return std::uint32_t{1};
    return (rounds.span + (std::uint32_t{1} << times) - 1) >> times;
  };
  return {halved(round + 1), halved(round) - halved(round + 1)};
}

// A step with its trip and tile filled in.
struct ResolvedStep {
  PeerRange receive;
  PeerRange send;
  std::int32_t source = kNoChunk;
  std::int32_t target = kNoChunk;
  std::int32_t offer = kNoChunk;
  std::uint32_t chunks = 1;  // of the value, whichever sides it comes from and goes to
  std::uint16_t source_stride = 1;
  std::uint16_t target_stride = 1;
  Side source_side = Side::input;
  Side target_side = Side::output;
  Token token = Token::none;
  bool finish = false;
  std::uint64_t tile = 0;
};

constexpr std::uint32_t chunks_of(const Program& program, Side side) {
  switch (side) {
    case Side::input:
      return program.input_chunks;
    case Side::output:
      return program.output_chunks;
    case Side::scratch:
      return program.scratch_chunks;
  }
  return 0;
}

// The i-th chunk of a run that begins at `first`.
constexpr std::uint32_t chunk_at(std::int32_t first, std::uint32_t stride, std::uint32_t i,
                                 std::uint32_t chunks) {
  return static_cast<std::uint32_t>(
      (static_cast<std::uint64_t>(first) + std::uint64_t{stride} * i) % chunks);
}

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
    if (step.source.exists()) {
      resolved.source = chunk(step.source);
      resolved.source_side = step.source.side;
      resolved.source_stride = step.source.stride;
      resolved.chunks = step.source.count;
    }
    if (step.target.exists()) {
      resolved.target = chunk(step.target);
      resolved.target_side = step.target.side;
      resolved.target_stride = step.target.stride;
      resolved.chunks = step.target.count;
    }
    if (step.offer.exists()) {
      resolved.offer = static_cast<std::int32_t>(
          advanced(step.offer.index, step.offer.advance, program_->output_chunks));
    }
    resolved.finish = step.finish;
    resolved.token = step.token;
    resolved.tile = pass_ - loop.lag;
    if (loop.rounds.span != 0) go_the_distance(loop.rounds, step, resolved);
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
            peers.count, peers.stride};
  }
  constexpr std::int32_t chunk(const Chunk& chunk) const {
    return static_cast<std::int32_t>(
        advanced(chunk.index, chunk.advance, chunks_of(*program_, chunk.side)));
  }

  // What the trip's round changes.
  constexpr void go_the_distance(const Rounds& rounds, const Step& step,
                                 ResolvedStep& resolved) const {
    const Round round = round_of(rounds, trip_);
    resolved.receive.first = reached(resolved.receive.first, step.receive.reach, round.distance);
    resolved.send.first = reached(resolved.send.first, step.send.reach, round.distance);
    if (step.source.exists()) add_run(step.source, round, resolved.source, resolved.chunks);
    if (step.target.exists()) add_run(step.target, round, resolved.target, resolved.chunks);
  }
  // A partner across the world's end stays there, for check_well_formed to see.
  constexpr std::uint16_t reached(std::uint32_t first, Reach reach, std::uint32_t distance) const {
    const std::uint32_t world = program_->world;
    if (reach == Reach::across) return static_cast<std::uint16_t>(first ^ distance);
    if (reach == Reach::up) first += distance;
    if (reach == Reach::down) first += world - distance % world;
    return static_cast<std::uint16_t>(first % world);
  }
  constexpr void add_run(const Chunk& chunk, const Round& round, std::int32_t& index,
                         std::uint32_t& count) const {
    if (chunk.run == Run::fixed) return;
    count = round.chunks;
    if (chunk.run != Run::far) return;
    const std::uint32_t chunks = chunks_of(*program_, chunk.side);
    index =
        static_cast<std::int32_t>((static_cast<std::uint32_t>(index) + round.distance) % chunks);
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
