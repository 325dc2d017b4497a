// What the host hands to the interpreter kernels: plain data, the same for CUDA and HIP.
//
// One launch runs one call (or one fused group of messages) on one rank. A *chain* is a list of
// strands that run one after the other; chains run side by side. Every chain has a block for each
// of the launch's channels, the first few of which work on a strand: block `channel` of `channels`
// on the tiles t of the strand with t % channels == channel, or on its stripe of every tile, over
// lanes of that channel alone. So channels never meet, and each is the schedule that the verifier
// proved, on part of the elements.
//
// Positions of lanes live in device memory (Ends) and not in the launch, so that a captured graph
// may be replayed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "kernels/device/threads.hpp"
#include "kernels/fold.hpp"
#include "schedule/lane.hpp"
#include "schedule/layout.hpp"
#include "schedule/step.hpp"

namespace gyre::device {

inline constexpr std::uint32_t kMostPeers = 64;  // at one step's lanes, to either side

// The kernels of a back-end: the interpreter for each element type, by its number, and one that
// moves bytes; then the exchange of small messages, by type and of bytes again; and the one that
// waits for the host (errand.cuh).
inline constexpr std::uint32_t kCopyKernel = kDataTypes;
inline constexpr std::uint32_t kExchangeKernels = kCopyKernel + 1;
inline constexpr std::uint32_t kErrandKernel = kExchangeKernels + kCopyKernel + 1;
inline constexpr std::uint32_t kKernels = kErrandKernel + 1;

// Up to here a message is there sooner if it is sent than if it is read where it lies, and its
// sender need not wait for that. Every slot has so many bytes.
inline constexpr std::uint64_t kPushedBytes = 4 << 10;

// Both lanes of one channel between this rank and one peer.
struct LanePair {
  LaneView send;     // headers and data in the peer's memory, the credit in this rank's
  LaneView receive;  // the other way round
};

// How far this rank's two ends of a LanePair are, and the credit of the sending one when last
// looked at. Each end is moved by the one block at work there.
struct Ends {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint64_t head = 0;
};

// Tokens that the two strands of a channel have given each other, ever; by the giver.
struct Tokens {
  std::uint64_t given[kMaxStrands] = {};
  std::uint64_t taken[kMaxStrands] = {};
};

// Meetings (meeting.cuh), as in the exchange of small messages: everybody writes to everybody, in
// lines that carry their own flags.
struct ExchangeView {
  std::byte* inbox = nullptr;       // this rank's (Inboxes)
  std::uint64_t* counts = nullptr;  // [channel]: meetings done; this rank's own
};
// Of every rank, where senders write: [buffer][sender][channel][kExchangeLines + 1] lines. They
// travel with each launch: a small message is done in few times what device memory takes to answer.
struct Inboxes {
  std::byte* of[kMostPeers] = {};
};
inline constexpr std::uint32_t kLineBytes = 16;
inline constexpr std::uint32_t kLinePayload = 8;
inline constexpr std::uint32_t kExchangeLines = 1024;  // of one channel, without the first
inline constexpr std::uint32_t kExchangeBuffers = 2;
inline constexpr std::uint32_t kExchangePasses = 4;  // of one call, at most
static_assert(kExchangeLines % kThreads == 0, "all threads have as many");

constexpr std::uint64_t exchange_inbox_bytes(std::uint64_t world, std::uint64_t channels) {
  return kExchangeBuffers * world * channels * (kExchangeLines + 1) * kLineBytes;
}

// Memory of a peer's process that this rank's process has mapped (mapped.cuh). The host fills it
// in, the shift first.
struct Mapping {
  std::uint64_t allocation = 0;  // the number it has in its owner's process; 0: a free place
  std::uint64_t shift = 0;       // to be added to the owner's addresses
};
inline constexpr std::uint32_t kMappings = 256;     // of one peer
inline constexpr std::uint32_t kMappingPlaces = 8;  // where one can be, from its number on
inline constexpr std::uint64_t kNoAllocation = 0;   // there is nothing to be reached
inline constexpr std::uint64_t kUnreachable = ~std::uint64_t{0};

// What is added to a peer's addresses in the buffers of its call.
struct Shifts {
  std::uint64_t input = 0;
  std::uint64_t output = 0;
};

struct MappingView {
  const Mapping* table = nullptr;   // [peer][kMappings]
  std::uint64_t* missed = nullptr;  // pinned: [peer][2], allocations of which none was found
  Shifts* shifts = nullptr;         // [peer]: what the first block found for the call at work
  std::uint32_t* ended = nullptr;   // blocks that are done with the launch at work
};

enum class Fault : std::uint32_t {
  none = 0,
  other_call,  // a peer's slot belongs to another call
  timeout,     // a wait outlasted GYRE_TIMEOUT
  bad_slot,    // a peer wrote what no rank writes
  left,        // a peer destroyed its communicator before it came to this call
};

// Pinned host memory that kernels and host share. `left` is written by the host; `abort` too, and
// by the kernel that finds a fault; the rest by the first such kernel, `fault` last, with release.
struct alignas(64) Mailbox {
  std::uint32_t abort = 0;
  std::uint32_t fault = 0;  // Fault
  std::uint32_t reserved = 0;
  std::uint32_t peer = 0;
  std::uint64_t own_stamp = 0;
  std::uint64_t peer_stamp = 0;
  std::uint32_t own_tag = 0;
  std::uint32_t peer_tag = 0;
  std::uint64_t own_bytes = 0;
  std::uint64_t peer_bytes = 0;
  std::uint64_t left = 0;  // [peer] bits: who has destroyed its communicator
};

// A rank as its kernels see it; constant once the communicator is open.
struct Rank {
  std::uint32_t rank = 0;
  std::uint32_t world = 1;
  std::uint32_t channels = 1;       // that there are lanes for
  const LanePair* lanes = nullptr;  // [channel * world + peer]
  Ends* ends = nullptr;             // likewise
  Tokens* tokens = nullptr;         // [channel]
  const std::uint8_t* refers =
      nullptr;  // [peer]: whether it reads and writes this rank's addresses
  Mailbox* mailbox = nullptr;
  std::uint32_t* reporting = nullptr;  // device memory: not 0 once a block writes the report
  std::uint64_t timeout_ns = 0;        // of one wait; 0: none
  ExchangeView exchange;
  MappingView mappings;
};

inline constexpr std::uint32_t kEveryRank = ~0U;
inline constexpr std::uint32_t kNoPeer = ~0U;

// One strand of one program on one call's buffers.
struct Work {
  const std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::byte* scratch = nullptr;  // [channel]: scratch_chunks * input slice elements each
  const void* scalar = nullptr;  // premulsum: where the factor is found when the call runs, or null
  Layout input_layout;
  Layout output_layout;
  Fold fold;
  std::uint64_t tiles = 0;
  std::uint64_t stamp = 0;  // CallStamp
  std::uint32_t tag = 0;    // CallTag
  std::uint32_t element_bytes = 1;
  std::uint32_t next = 0;  // the work that follows in its chain; 0: none (work 0 begins a chain)
  std::uint32_t channels = 1;    // of the launch's, the first ones: those that share the work
  std::uint32_t peer = kNoPeer;  // of a message: who is put into the program (message_program())
  std::uint16_t strand = 0;
  bool reducing = false;
  bool by_reference = false;  // the schedule allows references to the buffers
  bool striped = false;       // channels share every tile, stripe by stripe, instead of the tiles
  bool offers = false;        // some step of the program offers a place for an answer

  // Of an exchange: each receiver gets a block of its own of the input; who alone sends, or
  // receives.
  bool sends_blocks = false;
  std::uint32_t only_sender = kEveryRank;
  std::uint32_t only_receiver = kEveryRank;

  // Ranks first ask each other whether all reach the buffers of all (mapped.cuh). If so they work
  // by reference and striped, and on tiles of this cut.
  bool asks = false;
  std::uint64_t mapped_slice = 0;
  std::uint64_t mapped_tiles = 0;
  std::uint64_t input_allocation = kNoAllocation;
  std::uint64_t output_allocation = kNoAllocation;
};

// Host memory where kernels leave errands, and a thread of the host their ends.
struct alignas(64) Desk {
  std::uint64_t errand = 0;            // what is to be done
  std::uint64_t posted = 0;            // how many were left, ever; with release, after `errand`
  alignas(64) std::uint64_t done = 0;  // what is below the thread's to write
  std::uint32_t closed = 0;            // nothing that is posted will be done
};
struct Errand {
  Desk* desk = nullptr;
  std::uint64_t id = 0;
};

// Blocks that read what they work on from the host's memory begin microseconds later, the more of
// them the later.
inline constexpr std::uint32_t kInlineWorks = 8;
static_assert(kInlineWorks >= kMaxStrands);

// A kernel's only argument. Works 0 ... chains - 1 begin the chains.
struct Launch {
  Rank rank;
  Inboxes inboxes;
  const Work* works = nullptr;  // null: inline_works
  std::uint32_t chains = 0;
  std::uint32_t channels = 0;
  Errand errand;  // of kErrandKernel, which has no works
  Program program;
  Work inline_works[kInlineWorks];
};

static_assert(std::is_trivially_copyable_v<Launch>);
static_assert(sizeof(Launch) <= 4096, "it travels as kernel parameters");

}  // namespace gyre::device
