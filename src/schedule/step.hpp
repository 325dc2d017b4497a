// The schedule IR: plain data, shared by host and device.
//
// A schedule says, for every rank, in which order chunks are received, reduced, stored and sent
// while ONE tile of the buffers is worked on. It knows no bytes, pointers, types or protocols, and
// its size depends neither on the message nor (for rings) on the number of ranks.
#pragma once

#include <cstdint>
#include <type_traits>

namespace gyre {

inline constexpr std::int32_t kNoChunk = -1;

// Consecutive ranks (modulo the world) at the other ends of a step's lanes. The own rank is left
// out where the range covers it. After each trip of the loop, `first` moves by `advance`.
struct Peers {
  std::uint16_t first = 0;
  std::uint16_t count = 0;  // 0: no lane
  std::int16_t advance = 0;
};

// A chunk of the input (source) or of the output (target). After each trip it moves by `advance`,
// modulo the number of chunks of its side.
struct Chunk {
  std::int32_t index = kNoChunk;
  std::int16_t advance = 0;
};

// One fused step, in this order: take one slice from every `receive` lane and, if given, the
// `source` chunk of the input; fold them (see below) into one value; store it into the `target`
// chunk of the output, if given; send it to every `send` lane.
//
// Operands are folded in rank order when the receive range covers the own rank (the local chunk
// stands at the own rank's place), otherwise the received ones first and the local one last. With
// one operand the fold is a copy.
//
// A step that only sends to one rank may `offer` a chunk of the output. A rank that takes the value
// by reference and sends its result back writes that result into the chunk itself, and the sender's
// later step that stores the chunk finds it there. Where the executor cannot do that, an offer
// means nothing.
//
// `finish` marks the step whose value is final (averages divide there, once).
struct Step {
  Peers receive;
  Peers send;
  Chunk source;
  Chunk target;
  Chunk offer;
  bool finish = false;
};

// `trips` repetitions of `steps` consecutive steps. `lag` pipelines tiles: in pass p of its strand
// the loop works on tile p - lag, and is skipped where there is no such tile.
struct Loop {
  std::uint16_t first_step = 0;
  std::uint16_t steps = 0;
  std::uint32_t trips = 0;
  std::uint32_t lag = 0;
};

// Consecutive loops, run once per pass. Passes: tiles + the largest lag.
struct Strand {
  std::uint16_t first_loop = 0;
  std::uint16_t loops = 0;
};

inline constexpr int kMaxSteps = 16;
inline constexpr int kMaxLoops = 12;
inline constexpr int kMaxStrands = 2;

// The strands of one (rank, channel). Strands of a program run concurrently and share no lane end.
struct Program {
  std::uint16_t rank = 0;
  std::uint16_t world = 1;
  std::uint32_t input_chunks = 1;   // chunks of one tile of the input
  std::uint32_t output_chunks = 1;  // chunks of one tile of the output
  std::uint16_t step_count = 0;
  std::uint16_t loop_count = 0;
  std::uint16_t strand_count = 0;
  Step steps[kMaxSteps] = {};
  Loop loops[kMaxLoops] = {};
  Strand strands[kMaxStrands] = {};
};

static_assert(std::is_trivially_copyable_v<Program>);
static_assert(sizeof(Program) <= 1024, "a program travels in kernel parameters");

}  // namespace gyre
