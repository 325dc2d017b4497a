// One strand at work: a program, the buffers it works on, and how far it is.
//
// try_step() executes the strand's next step if every lane it needs is ready, and does nothing
// otherwise, so one thread can drive any number of strands. Hot path: no allocation, no lock, no
// system call but a futex wake for a peer that sleeps.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/memory.hpp"
#include "base/status.hpp"
#include "exec/destinations.hpp"
#include "exec/due_bells.hpp"
#include "exec/local_lanes.hpp"
#include "exec/outbox.hpp"
#include "exec/places.hpp"
#include "exec/result_routes.hpp"
#include "kernels/host/reduce.hpp"
#include "schedule/call.hpp"
#include "schedule/cursor.hpp"
#include "schedule/layout.hpp"
#include "transport/transport.hpp"

namespace gyre {

// The links of one rank by peer (its own entry is null), whom to wake, and scratch memory for
// fetched operands.
struct Wiring {
  std::uint32_t rank = 0;
  std::span<Link* const> links;
  DueBells* bells = nullptr;
  Places* places = nullptr;
  Destinations* destinations = nullptr;
  Outbox* outbox = nullptr;
  LocalLanes* local = nullptr;           // of the launch at work
  ResultMeter* results = nullptr;        // likewise
  std::span<const std::byte*> operands;  // world entries and one, for the fold
  std::span<const std::byte*> messages;  // the same, for the chunks of a fold to be taken from
  std::byte* scratch = nullptr;          // world * scratch_stride bytes
  std::uint64_t scratch_stride = 0;

  std::uint32_t world() const { return static_cast<std::uint32_t>(links.size()); }
  Link& link(std::uint32_t peer) const { return *links[peer]; }
};

// What a strand works on.
struct Work {
  const Program* program = nullptr;
  int strand = 0;
  std::uint64_t tiles = 1;
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // of the program's scratch_chunks slices
  Layout input_layout;
  Layout output_layout;
  Fold fold;                         // type, op, scale, ranks; local and finish are set per step
  bool by_reference = true;          // whether slots may point into the user's buffers
  std::uint64_t least_referred = 0;  // bytes of a value from which on they may
  // Whether peers read ordinary memory by system calls: worth it where all ranks receive at once.
  bool by_call = false;
  bool streams = false;   // whether the result is written past the caches
  bool reducing = false;  // a reducing collective: single operands may still need scaling
  CallTag tag;
  CallStamp stamp;  // like the tag checked against the peers'
};

enum class Progress : std::uint8_t { stepped, blocked, done };

class StrandRun {
 public:
  explicit StrandRun(const Work& work);

  // The same work from the start, on other buffers and under another number.
  void restart(const std::byte* input, std::byte* output, CallStamp stamp);
  void stream_results(bool streams) { work_.streams = streams; }

  Result<Progress> try_step(const Wiring& wiring);

  // The peer whose lane the current step waits for, or -1; for reports and loss checks.
  int blocked_on(const Wiring& wiring) const;
  // The first peer that must send before the current step can be done, or -1; and whether this one
  // must.
  int awaited_sender(const Wiring& wiring) const;
  bool awaits(int peer, const Wiring& wiring) const;
  // Whether the other strand of the launch must go on before this one can.
  bool awaits_strand(const Wiring& wiring) const {
    return !cursor_.done() && step_.token != Token::none &&
           !wiring.local->ready(step_.token, work_.strand);
  }
  CallTag tag() const { return work_.tag; }
  CallStamp stamp() const { return work_.stamp; }

 private:
  // One step, resolved to bytes.
  struct Moved {
    const ResolvedStep& step;
    std::uint64_t elements = 0;
    std::uint64_t bytes = 0;
    const std::byte* source = nullptr;
    std::byte* target = nullptr;
    std::byte* offer = nullptr;
  };

  Moved resolve(const ResolvedStep& step) const;
  // One chunk of a side in a tile: where it begins there, in elements.
  Extent extent(Side side, std::uint64_t tile, std::uint64_t chunk) const;
  const std::byte* memory(Side side) const;
  void arrive() {
    if (!cursor_.done()) step_ = cursor_.current();
  }
  // The first peer whose lane is not ready for the step, or -1.
  static int missing_peer(const ResolvedStep& step, const Wiring& wiring);
  Result<int> gather_operands(const Moved& moved, const Wiring& wiring, int* local) const;
  Result<const std::byte*> receive_one(const Moved& moved, std::uint32_t peer, int slot,
                                       const Wiring& wiring) const;
  Result<bool> references_held(const Moved& moved, const Wiring& wiring) const;
  // False: a peer took a slot back meanwhile, and nothing was sent or released.
  Result<bool> execute(const Moved& moved, const Wiring& wiring);
  // Where a value lies until the end of the call, in order of preference; null: nowhere.
  struct Lasting {
    const std::byte* first = nullptr;
    const std::byte* second = nullptr;
  };
  Lasting lasting_places(const Moved& moved, bool folds, int local) const;
  // Where the peer will read the value, or null.
  const std::byte* refer(const Moved& moved, const Lasting& lasting, Link& link,
                         SlotHeader& header) const;
  // Decides how the value travels to each peer. Whether any peer will read the target.
  bool prepare_sends(const Moved& moved, const Lasting& lasting, const Wiring& wiring) const;
  // What would be copied into the slots of several peers goes into one slot for all of them.
  void share_copies(const Moved& moved, const Wiring& wiring) const;
  void post_sends(const Moved& moved, const std::byte* value, const Wiring& wiring) const;
  void add_results(const Moved& moved, std::span<const std::byte* const> sources,
                   bool target_is_sent, const Wiring& wiring) const;
  bool needs_fold(const ResolvedStep& step, int operands, int local) const;
  // Only what the user gave is scaled, not what was made of it.
  static int scaled(const ResolvedStep& step, int local) {
    return step.source_side == Side::input ? local : -1;
  }

  // run_step.cc: steps of several chunks, which travel as one message.
  Moved resolve_run(const ResolvedStep& step) const;
  Result<bool> execute_run(const Moved& moved, const Wiring& wiring);
  void move_chunks(const Moved& moved, std::size_t operands, int local, std::byte* small,
                   const Wiring& wiring) const;
  void add_places_of_chunk(const Moved& moved, std::uint64_t chunk, std::uint64_t bytes,
                           std::uint64_t offset, std::byte* small, const Wiring& wiring) const;

  Work work_;
  std::uint64_t element_bytes_;
  Cursor first_;
  Cursor cursor_;
  ResolvedStep step_;  // where the cursor stands, unless it is done: a blocked strand asks often
};

}  // namespace gyre
