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

#include <cstdint>

#include "schedule/step.hpp"

namespace gyre {

// The lanes a step receives from: `count` ranks from `first` on, moved by `advance` per trip.
struct From {
  std::int64_t first = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
};
// The lanes it sends to.
struct To {
  std::int64_t first = 0;
  std::int16_t advance = 0;
  std::uint32_t count = 1;
};
// A chunk of the input, and of the output.
struct In {
  std::int64_t chunk = 0;
  std::int16_t advance = 0;
};
struct Out {
  std::int64_t chunk = 0;
  std::int16_t advance = 0;
};

// Every rank but the own one. Received operands are then folded in rank order, own one included.
constexpr From from_everyone(std::uint32_t world) { return {0, 0, world}; }
constexpr To to_everyone(std::uint32_t world) { return {0, 0, world}; }

// A step whose ranks and chunks are not yet taken modulo anything.
struct Draft {
  From from{0, 0, 0};
  To to{0, 0, 0};
  In in{};
  Out out{};
  Out offered{};
  bool reads = false;
  bool stores = false;
  bool offers = false;
  bool final_value = false;

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
};

constexpr Draft copy(In in, Out out) {
  return {.in = in, .out = out, .reads = true, .stores = true};
}
constexpr Draft send(In in, To to) { return {.to = to, .in = in, .reads = true}; }
constexpr Draft copy_send(In in, Out out, To to) {
  return {.to = to, .in = in, .out = out, .reads = true, .stores = true};
}
constexpr Draft recv_store(From from, Out out) {
  return {.from = from, .out = out, .stores = true};
}
constexpr Draft recv_store_send(From from, Out out, To to) {
  return {.from = from, .to = to, .out = out, .stores = true};
}
constexpr Draft recv_reduce_send(From from, In in, To to) {
  return {.from = from, .to = to, .in = in, .reads = true};
}
constexpr Draft recv_reduce_store(From from, In in, Out out) {
  return {.from = from, .in = in, .out = out, .reads = true, .stores = true};
}
constexpr Draft recv_reduce_store_send(From from, In in, Out out, To to) {
  return {.from = from, .to = to, .in = in, .out = out, .reads = true, .stores = true};
}

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

  // `trips` repetitions of `drafts`, in order. No trips: no loop.
  template <typename... Drafts>
  constexpr Builder& loop(std::int64_t trips, const Drafts&... drafts) {
    return lagged_loop(trips, 0, drafts...);
  }

  // The same on the tile `lag` passes back.
  template <typename... Drafts>
  constexpr Builder& lagged_loop(std::int64_t trips, std::uint32_t lag, const Drafts&... drafts) {
    static_assert(sizeof...(Drafts) != 0, "a loop has steps");
    constexpr std::uint16_t kSteps = sizeof...(Drafts);
    if (trips <= 0) return *this;
    if (program_.loop_count == kMaxLoops || program_.step_count + kSteps > kMaxSteps) {
      overflow_ = true;
      return *this;
    }
    program_.loops[program_.loop_count++] = {program_.step_count, kSteps,
                                             static_cast<std::uint32_t>(trips), lag};
    ((program_.steps[program_.step_count++] = resolve(drafts)), ...);
    ++program_.strands[program_.strand_count - 1].loops;
    return *this;
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
  static constexpr std::int64_t modulo(std::int64_t value, std::int64_t size) {
    return value >= 0 && value < size ? value : ((value % size) + size) % size;
  }
  constexpr Peers peers(std::int64_t first, std::int16_t advance, std::uint32_t count) const {
    if (count == 0) return {};
    return {static_cast<std::uint16_t>(modulo(first, program_.world)),
            static_cast<std::uint16_t>(count), advance};
  }
  static constexpr Chunk chunk(std::int64_t index, std::int16_t advance, std::uint32_t chunks) {
    return {static_cast<std::int32_t>(modulo(index, chunks)), advance};
  }
  constexpr Step resolve(const Draft& draft) const {
    Step step;
    step.receive = peers(draft.from.first, draft.from.advance, draft.from.count);
    step.send = peers(draft.to.first, draft.to.advance, draft.to.count);
    if (draft.reads) step.source = chunk(draft.in.chunk, draft.in.advance, program_.input_chunks);
    if (draft.stores) {
      step.target = chunk(draft.out.chunk, draft.out.advance, program_.output_chunks);
    }
    if (draft.offers) {
      step.offer = chunk(draft.offered.chunk, draft.offered.advance, program_.output_chunks);
    }
    step.finish = draft.final_value;
    return step;
  }

  Program program_;
  bool overflow_ = false;
};

}  // namespace gyre
