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
inline constexpr std::uint16_t kNoIndex = 0xffff;
inline constexpr std::uint32_t kMaxChunks = kNoIndex;

// A loop whose trips are the rounds of a logarithmic algorithm. Round k has the distance
// ceil(span / 2^(k+1)) and moves ceil(span / 2^k) - distance chunks, so that rounds 0, 1, ... halve
// the span, and the same backwards double it. A span of 7: distances 4, 2, 1 and 3, 2, 1 chunks.
struct Rounds {
  std::uint16_t span = 0;   // 0: the trips are not rounds
  std::uint8_t first = 0;   // round of the first trip
  std::int8_t advance = 0;  // rounds per trip: 1 halves, -1 doubles
};

// What a round's distance does to the first rank of a range.
enum class Reach : std::uint8_t {
  fixed,   // nothing
  up,      // added
  down,    // subtracted
  across,  // exclusive or: the partners of a butterfly
};

// `count` ranks, `stride` apart, modulo the world, at the other ends of a step's lanes. The own
// rank is left out where a range of stride 1 covers it. After each trip of the loop, `first` moves
// by `advance`.
struct Peers {
  std::uint16_t first = 0;
  std::uint16_t count = 0;  // 0: no lane
  std::int16_t advance = 0;
  std::uint16_t stride = 1;
  Reach reach = Reach::fixed;
};

// The buffers of a rank. Scratch belongs to one run of the program on one rank, and is used again
// by every tile; what is sent from there is always copied.
enum class Side : std::uint8_t { input, output, scratch };

// Which chunks a reference means.
enum class Run : std::uint8_t {
  fixed,  // `count` chunks from `index` on, `stride` apart
  near,   // as many as the round moves, from `index` on
  far,    // the same, from `index` + the round's distance on
};

// Chunks of one side, modulo their number. After each trip `index` moves by `advance`. The value of
// several chunks is their concatenation, and travels as one message.
struct Chunk {
  std::uint16_t index = kNoIndex;
  std::int16_t advance = 0;
  std::uint16_t count = 1;
  std::uint16_t stride = 1;
  Side side = Side::input;
  Run run = Run::fixed;

  constexpr bool exists() const { return index != kNoIndex; }
};

// A chunk of the output.
struct Offer {
  std::uint16_t index = kNoIndex;
  std::int16_t advance = 0;

  constexpr bool exists() const { return index != kNoIndex; }
};

// A message without content to the other strand of the same rank, through a lane of their own.
enum class Token : std::uint8_t {
  none,
  take,  // before all else
  give,  // after all else
};

// One fused step, in this order: take one message from every `receive` lane and, if given, the
// `source` chunks; fold them (see below) into one value; store it into the `target` chunks, if
// given; send it to every `send` lane.
//
// A step has a source or a target, or both: nothing else says how long its value is, so a rank that
// passes something on stores it.
//
// Operands are folded in rank order when the receive range covers the own rank (the local chunk
// stands at the own rank's place), otherwise the received ones first and the local one last. With
// one operand the fold is a copy.
//
// A step that only sends to one rank may `offer` a chunk of the output. A rank that takes the value
// by reference and sends its result back writes that result into the chunk itself, and the sender's
// later step that takes the answer, and does no more than store it in that chunk and send it on,
// finds it there. Where the executor cannot do that, an offer means nothing.
//
// `finish` marks the step whose value is final (averages divide there, once).
struct Step {
  Peers receive;
  Peers send;
  Chunk source;
  Chunk target = {.side = Side::output};
  Offer offer;
  bool finish = false;
  Token token = Token::none;
};

// `trips` repetitions of `steps` consecutive steps. `lag` pipelines tiles: in pass p of its strand
// the loop works on tile p - lag, and is skipped where there is no such tile.
struct Loop {
  std::uint16_t first_step = 0;
  std::uint16_t steps = 0;
  std::uint32_t trips = 0;
  std::uint16_t lag = 0;
  Rounds rounds;
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
  std::uint32_t input_chunks = 1;    // chunks of one tile of the input
  std::uint32_t output_chunks = 1;   // chunks of one tile of the output
  std::uint32_t scratch_chunks = 0;  // of this rank alone
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
