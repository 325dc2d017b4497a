// The verbs schedules are written in. A builder reads as the textbook does:
//
//   return Builder(rank, world, world, world)
//       .loop(1, send(In{rank - 1}, To{rank + 1}))
//       .loop(world - 2, recv_reduce_send(From{rank - 1}, In{rank - 2, -1}, To{rank + 1}))
//       ...
//       .program();
//
// Ranks and chunks may be any integers; they are taken modulo the world and the chunks of their
// side. Nothing is allocated: a program is built in well under a microsecond per loop, so grouped
// sends and receives can build one per call.
#pragma once

#include <bit>
#include <cstdint>

#include "schedule/cursor.hpp"
#include "schedule/step.hpp"

namespace gyre {

// The lanes a step receives from: `count` ranks from `first` on, `stride` apart, moved by `advance`
// per trip, and by the round's distance as `reach` says.
struct From {
  std::int64_t first = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
  std::int64_t stride = 1;
  Reach reach = Reach::fixed;
};
// The lanes it sends to.
struct To {
  std::int64_t first = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
  std::int64_t stride = 1;
  Reach reach = Reach::fixed;
};
// Chunks of the input, of the output, and of the scratch memory.
struct In {
  std::int64_t chunk = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
  std::uint32_t stride = 1;
  Run run = Run::fixed;
};
struct Out {
  std::int64_t chunk = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
  std::uint32_t stride = 1;
  Run run = Run::fixed;
};
struct Scratch {
  std::int64_t chunk = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
  std::uint32_t stride = 1;
  Run run = Run::fixed;
};

// Every rank but the own one. Received operands are then folded in rank order, own one included.
constexpr From from_everyone(std::uint32_t world) { return {0, 0, world}; }
constexpr To to_everyone(std::uint32_t world) { return {0, 0, world}; }

// The rank that is the round's distance above, below, or across (exclusive or).
constexpr From from_above(std::int64_t rank) { return {.first = rank, .reach = Reach::up}; }
constexpr From from_below(std::int64_t rank) { return {.first = rank, .reach = Reach::down}; }
constexpr From from_across(std::int64_t rank) { return {.first = rank, .reach = Reach::across}; }
constexpr To to_above(std::int64_t rank) { return {.first = rank, .reach = Reach::up}; }
constexpr To to_below(std::int64_t rank) { return {.first = rank, .reach = Reach::down}; }
constexpr To to_across(std::int64_t rank) { return {.first = rank, .reach = Reach::across}; }

// As many chunks as the round moves: from there on, or from the round's distance further on.
template <typename Place>
constexpr Place near(Place place) {
  place.run = Run::near;
  return place;
}
template <typename Place>
constexpr Place far(Place place) {
  place.run = Run::far;
  return place;
}

// Where a step reads: anywhere; and stores: anywhere but in the input.
struct Operand {
  std::int64_t chunk = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
  std::uint32_t stride = 1;
  Run run = Run::fixed;
  Side side = Side::input;

  constexpr Operand() = default;

 protected:
  // Before those that call it: clang 14 cannot evaluate it otherwise.
  template <typename Place>
  constexpr Operand(const Place& place, Side where)
      : chunk(place.chunk),
        advance(place.advance),
        count(place.count),
        stride(place.stride),
        run(place.run),
        side(where) {}

 public:
  constexpr Operand(In in) : Operand(in, Side::input) {}
  constexpr Operand(Out out) : Operand(out, Side::output) {}
  constexpr Operand(Scratch scratch) : Operand(scratch, Side::scratch) {}
};
struct Target : Operand {
  constexpr Target() = default;
  constexpr Target(Out out) : Operand(out) {}
  constexpr Target(Scratch scratch) : Operand(scratch) {}
};

// A step whose ranks and chunks are not yet taken modulo anything.
struct Draft {
  From from{0, 0, 0};
  To to{0, 0, 0};
  Operand source{};
  Target target{};
  Out offered{};
  bool reads = false;
  bool stores = false;
  bool offers = false;
  bool final_value = false;
  Token token = Token::none;

  // Marks the step whose value is final.
  constexpr Draft finish() const {
    Draft draft = *this;
    draft.final_value = true;
    return draft;
  }
  // Says where the receiver may write its result.
  constexpr Draft offering(Out place) const {
    Draft draft = *this;
    draft.offered = place;
    draft.offers = true;
    return draft;
  }
  // The other strand of this rank may go on, or is waited for.
  constexpr Draft telling_other_strand() const { return with(Token::give); }
  constexpr Draft after_other_strand() const { return with(Token::take); }

 private:
  constexpr Draft with(Token which) const {
    Draft draft = *this;
    draft.token = which;
    return draft;
  }
};

constexpr Draft copy(Operand from, Target to) {
  Draft draft;
  draft.source = from, draft.target = to;
  draft.reads = draft.stores = true;
  return draft;
}
constexpr Draft send(Operand from, To to) {
  Draft draft;
  draft.to = to, draft.source = from;
  draft.reads = true;
  return draft;
}
constexpr Draft copy_send(Operand from, Target into, To to) {
  Draft draft = copy(from, into);
  draft.to = to;
  return draft;
}
constexpr Draft recv_store(From from, Target into) {
  Draft draft;
  draft.from = from, draft.target = into;
  draft.stores = true;
  return draft;
}
constexpr Draft recv_store_send(From from, Target into, To to) {
  Draft draft = recv_store(from, into);
  draft.to = to;
  return draft;
}
constexpr Draft recv_reduce_send(From from, Operand own, To to) {
  Draft draft = send(own, to);
  draft.from = from;
  return draft;
}
constexpr Draft recv_reduce_store(From from, Operand own, Target into) {
  Draft draft = copy(own, into);
  draft.from = from;
  return draft;
}
constexpr Draft recv_reduce_store_send(From from, Operand own, Target into, To to) {
  Draft draft = recv_reduce_store(from, own, into);
  draft.to = to;
  return draft;
}

// Rounds of a logarithmic algorithm over `span` ranks: `trips` of them, from the first-th on.
struct RoundLoop {
  Rounds rounds;
  std::int64_t trips = 0;
};
constexpr std::int64_t rounds_over(std::int64_t span) {
  const auto farthest = static_cast<std::uint64_t>(span <= 1 ? 0 : span - 1);
  return static_cast<std::int64_t>(std::bit_width(farthest));
}
// Distances ceil(span/2), ceil(span/4), ..., 1; the doubling ones come the other way round.
constexpr RoundLoop halving(std::int64_t span, std::int64_t first, std::int64_t trips) {
  return {{static_cast<std::uint16_t>(span), static_cast<std::uint8_t>(first), 1}, trips};
}
constexpr RoundLoop doubling(std::int64_t span, std::int64_t first, std::int64_t trips) {
  const std::int64_t round = rounds_over(span) - 1 - first;
  return {{static_cast<std::uint16_t>(span), static_cast<std::uint8_t>(round), -1}, trips};
}
constexpr RoundLoop halving(std::int64_t span) { return halving(span, 0, rounds_over(span)); }
constexpr RoundLoop doubling(std::int64_t span) { return doubling(span, 0, rounds_over(span)); }

class Builder {
 public:
  constexpr Builder(std::uint32_t rank, std::uint32_t world, std::uint32_t input_chunks = 1,
                    std::uint32_t output_chunks = 1) {
    program_.rank = static_cast<std::uint16_t>(rank);
    program_.world = static_cast<std::uint16_t>(world);
    program_.input_chunks = input_chunks;
    program_.output_chunks = output_chunks;
    program_.strand_count = 1;
  }

  constexpr std::uint32_t rank() const { return program_.rank; }

  // Memory of this rank's own, for values between its steps.
  constexpr Builder& scratch(std::uint32_t chunks) {
    program_.scratch_chunks = chunks;
    return *this;
  }

  // `trips` repetitions of `drafts`, in order. No trips: no loop.
  template <typename... Drafts>
  constexpr Builder& loop(std::int64_t trips, const Drafts&... drafts) {
    return add(trips, 0, {}, drafts...);
  }

  // The same on the tile `lag` passes back.
  template <typename... Drafts>
  constexpr Builder& lagged_loop(std::int64_t trips, std::uint16_t lag, const Drafts&... drafts) {
    return add(trips, lag, {}, drafts...);
  }

  // The same once per round.
  template <typename... Drafts>
  constexpr Builder& loop(const RoundLoop& rounds, const Drafts&... drafts) {
    return add(rounds.trips, 0, rounds.rounds, drafts...);
  }

  // Loops from here on belong to another strand, which runs beside the ones before.
  constexpr Builder& strand() {
    if (program_.strand_count == kMaxStrands) {
      overflow_ = true;
    } else {
      program_.strands[program_.strand_count++] = {program_.loop_count, 0};
    }
    return *this;
  }

  // The program; one without strands (which every check refuses) if it did not fit.
  constexpr Program program() const { return overflow_ ? Program{} : program_; }

 private:
  template <typename... Drafts>
  constexpr Builder& add(std::int64_t trips, std::uint16_t lag, Rounds rounds,
                         const Drafts&... drafts) {
    static_assert(sizeof...(Drafts) != 0, "a loop has steps");
    constexpr std::uint16_t kSteps = sizeof...(Drafts);
    if (trips <= 0) return *this;
    if (program_.loop_count == kMaxLoops || program_.step_count + kSteps > kMaxSteps) {
      overflow_ = true;
      return *this;
    }
    program_.loops[program_.loop_count++] = {program_.step_count, kSteps,
                                             static_cast<std::uint32_t>(trips), lag, rounds};
    ((program_.steps[program_.step_count++] = resolve(drafts)), ...);
    ++program_.strands[program_.strand_count - 1].loops;
    return *this;
  }

  static constexpr std::int64_t modulo(std::int64_t value, std::int64_t size) {
    if (size == 0) return 0;
    return value >= 0 && value < size ? value : ((value % size) + size) % size;
  }
  template <typename Lanes>
  constexpr Peers peers(const Lanes& lanes) const {
    if (lanes.count == 0) return {};
    const std::int64_t stride = lanes.stride == 1 ? 1 : modulo(lanes.stride, program_.world);
    return {static_cast<std::uint16_t>(modulo(lanes.first, program_.world)),
            static_cast<std::uint16_t>(lanes.count), lanes.advance,
            static_cast<std::uint16_t>(stride), lanes.reach};
  }
  constexpr Chunk chunk(const Operand& at) const {
    return {static_cast<std::uint16_t>(modulo(at.chunk, chunks_of(program_, at.side))),
            at.advance,
            static_cast<std::uint16_t>(at.count),
            static_cast<std::uint16_t>(at.stride),
            at.side,
            at.run};
  }
  constexpr Step resolve(const Draft& draft) const {
    Step step;
    step.receive = peers(draft.from);
    step.send = peers(draft.to);
    if (draft.reads) step.source = chunk(draft.source);
    if (draft.stores) step.target = chunk(draft.target);
    if (draft.offers) {
      step.offer = {static_cast<std::uint16_t>(modulo(draft.offered.chunk, program_.output_chunks)),
                    draft.offered.advance};
    }
    step.finish = draft.final_value;
    step.token = draft.token;
    return step;
  }

  Program program_;
  bool overflow_ = false;
};

}  // namespace gyre
