// The one-shot all-reduce of a small message in a straight line: every rank writes its input to
// every other one, in lines of 16 bytes of which 8 are flags (the LL protocol of NCCL), and folds
// what arrives in rank order. There are no credits and no fences: a line says itself that it is
// there.
//
// Two buffers in turn suffice. A rank writes for exchange k + 2 over what it wrote for k only after
// it has seen all of k + 1, which each peer sent after it was done with k.
//
// The first line of a channel says which call it is of (lines.cuh).
#pragma once

#include "kernels/device/access.cuh"
#include "kernels/device/element.cuh"
#include "kernels/device/lines.cuh"
#include "kernels/device/operation.cuh"
#include "kernels/device/waits.cuh"

namespace gyre::device {

// Lines of so many ranks are on their way to a thread at the same time.
inline constexpr std::uint32_t kLinesTogether = 8;

// One block's share of an exchange.
struct Exchange {
  const Rank& rank;
  const Work& work;
  std::uint32_t channel;
  std::uint32_t channels;
  std::uint64_t number;  // among the channel's
  std::uint32_t flag;
  std::uint64_t bytes;
  std::uint64_t lines;  // of the whole message

  // The line of this channel at `receiver` that `sender` writes.
  __device__ uint4* line(std::uint32_t receiver, std::uint32_t sender, std::uint32_t index) const {
    return lines_at(rank, number, channel, receiver, sender) + index;
  }
  // The message's line that this thread has in a round, or `lines`: none.
  __device__ std::uint64_t line_of(std::uint32_t round) const {
    const std::uint64_t at = (std::uint64_t{round} * channels + channel) * kThreads + threadIdx.x;
    return at < lines ? at : lines;
  }
  __device__ Matter matter() const { return {work.stamp, work.tag, bytes}; }
};

// The 8 bytes of line `at`, fewer at the end of the message; any alignment.
template <class Code>
__device__ __forceinline__ std::uint64_t load_payload(const Exchange& exchange, std::uint64_t at) {
  const std::byte* from = exchange.work.input + at * kLinePayload;
  const std::uint64_t left = exchange.bytes - at * kLinePayload;
  if (left >= kLinePayload && address_of(from) % kLinePayload == 0) {
    return *reinterpret_cast<const std::uint64_t*>(from);
  }
  std::uint64_t payload = 0;
  for (std::uint32_t i = 0; i < kLinePayload && i < left; i += sizeof(Code)) {
    payload |= static_cast<std::uint64_t>(load_element<Code>(from + i)) << (8 * i);
  }
  return payload;
}

template <class Code>
__device__ __forceinline__ void store_payload(const Exchange& exchange, std::uint64_t at,
                                              std::uint64_t payload) {
  std::byte* to = exchange.work.output + at * kLinePayload;
  const std::uint64_t left = exchange.bytes - at * kLinePayload;
  if (left >= kLinePayload && address_of(to) % kLinePayload == 0) {
    *reinterpret_cast<std::uint64_t*>(to) = payload;
    return;
  }
  for (std::uint32_t i = 0; i < kLinePayload && i < left; i += sizeof(Code)) {
    store_element<Code>(to + i, static_cast<Code>(payload >> (8 * i)));
  }
}

__device__ inline void send_line(const Exchange& exchange, std::uint32_t index, const uint4& line) {
  const Rank& rank = exchange.rank;
  for (std::uint32_t i = 1; i < rank.world; ++i) {
    std::uint32_t peer = rank.rank + i;  // not everybody to the same one first
    if (peer >= rank.world) peer -= rank.world;
    store_line(exchange.line(peer, rank.rank, index), line);
  }
}

// Waits for the lines that ranks `first` on wrote, as many as are on their way together. False:
// stop.
__device__ inline bool receive_lines(const Exchange& exchange, std::uint32_t first,
                                     std::uint32_t index, uint4 (&lines)[kLinesTogether]) {
  const Rank& rank = exchange.rank;
  Patience patience(rank);
  for (;;) {
    std::uint32_t missing = kLinesTogether;
#pragma unroll
    for (std::uint32_t i = 0; i < kLinesTogether; ++i) {
      const std::uint32_t sender = first + i;
      if (sender < rank.world && sender != rank.rank) {
        lines[i] = load_line(exchange.line(rank.rank, sender, index));
      }
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kLinesTogether; ++i) {
      const std::uint32_t sender = first + i;
      const bool there =
          sender >= rank.world || sender == rank.rank || has_flag(lines[i], exchange.flag);
      if (!there) missing = i;
    }
    if (missing == kLinesTogether) return true;
    const auto hopeless = [] { return false; };  // agree() looks after that
    const auto late = [&] { report(rank, Fault::timeout, first + missing, exchange.matter(), {}); };
    if (!patience.lasts(hopeless, late)) return false;
  }
}

// Whether a peer sent over a lane what no call of this rank has taken, so that it is in another
// one. Had it come through this one, its lines would then be there to see. Not part of its caller,
// whose registers it would add to.
static __device__ __noinline__ bool is_on_lane(const Exchange& exchange, std::uint32_t peer,
                                               Matter* theirs) {
  if (exchange.channel != 0) return false;  // the first channel is at work in every call
  const LaneView& lane = exchange.rank.lanes[peer].receive;
  const std::uint64_t position = exchange.rank.ends[peer].received;
  const SlotHeader& header = lane.headers[slot_index(lane, position)];
  if (load_acquire_system(sequence_of(header)) != position + 1) return false;
  *theirs = matter_of(header);
  return true;
}

// Waits for a peer's first line. False: stop.
__device__ inline bool wait_first_line(const Exchange& exchange, std::uint32_t peer, uint4* line) {
  const Rank& rank = exchange.rank;
  const uint4* from = exchange.line(rank.rank, peer, 0);
  const auto look = [&] {
    *line = load_line(from);
    return has_flag(*line, exchange.flag);
  };
  const auto hopeless = [&] {
    Matter theirs;
    if (!is_on_lane(exchange, peer, &theirs) || look()) return false;
    report(rank, Fault::other_call, peer, exchange.matter(), theirs);
    return true;
  };
  const auto late = [&] { report(rank, Fault::timeout, peer, exchange.matter(), {}); };
  Patience patience(rank);
  while (!look()) {
    if (!patience.lasts(hopeless, late)) return false;
  }
  return true;
}

// Whether every peer is in the same call; its first line says which. One thread a peer.
__device__ inline bool agree(const Exchange& exchange) {
  const Rank& rank = exchange.rank;
  const uint4 own = first_line(exchange.work.tag, exchange.work.stamp, exchange.flag);
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += kThreads) {
    if (peer == rank.rank) continue;
    uint4 line;
    if (!wait_first_line(exchange, peer, &line)) return false;
    if (line.x == own.x && line.z == own.z) continue;
    report(rank, Fault::other_call, peer, exchange.matter(), matter_of(line));
    return false;
  }
  return true;
}

// Folds the message's line `at`, in rank order. False: stop.
template <class Form, class Operation>
__device__ __forceinline__ bool fold_line(const Exchange& exchange, const Operation& operation,
                                          std::uint64_t at, std::uint32_t index) {
  using Code = typename Form::Code;
  using Acc = typename Form::Acc;
  constexpr int kElements = kLinePayload / sizeof(Code);
  const std::uint64_t own = load_payload<Code>(exchange, at);
  Acc acc[kElements];
#pragma unroll 1
  for (std::uint32_t first = 0; first < exchange.rank.world; first += kLinesTogether) {
    uint4 lines[kLinesTogether];
    if (!receive_lines(exchange, first, index, lines)) return false;
#pragma unroll
    for (std::uint32_t i = 0; i < kLinesTogether; ++i) {
      const std::uint32_t sender = first + i;
      if (sender >= exchange.rank.world) break;
      const std::uint64_t theirs = static_cast<std::uint64_t>(lines[i].z) << 32 | lines[i].x;
      const std::uint64_t payload = sender == exchange.rank.rank ? own : theirs;
#pragma unroll
      for (int e = 0; e < kElements; ++e) {
        const auto code = static_cast<Code>(payload >> (8 * sizeof(Code) * e));
        const Acc operand = operation.enter(Form::widen(code), sender);
        acc[e] = sender == 0 ? operand : operation.combine(acc[e], operand);
      }
    }
  }
  std::uint64_t result = 0;
#pragma unroll
  for (int e = 0; e < kElements; ++e) {
    const Code code = Form::narrow(operation.leave(acc[e]));
    result |= static_cast<std::uint64_t>(code) << (8 * sizeof(Code) * e);
  }
  store_payload<Code>(exchange, at, result);
  return true;
}

template <class Form, class Operation>
__device__ __noinline__ void exchange_with(const Exchange& exchange, Operation operation) {
  using Code = typename Form::Code;
  constexpr std::uint32_t kRounds = kExchangeLines / kThreads;
  if (threadIdx.x == 0) {
    send_line(exchange, 0, first_line(exchange.work.tag, exchange.work.stamp, exchange.flag));
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint64_t at = exchange.line_of(round);
    if (at == exchange.lines) break;
    const std::uint64_t payload = load_payload<Code>(exchange, at);
    send_line(exchange, 1 + round * kThreads + threadIdx.x,
              make_uint4(static_cast<std::uint32_t>(payload), exchange.flag,
                         static_cast<std::uint32_t>(payload >> 32), exchange.flag));
  }
  if (!agree(exchange)) return;
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint64_t at = exchange.line_of(round);
    if (at == exchange.lines) break;
    if (!fold_line<Form>(exchange, operation, at, 1 + round * kThreads + threadIdx.x)) return;
  }
}

// Not for premulsum, and not for averages that may have to be summed again (kRescues).
template <DataType type>
__device__ void run_exchange(const Launch& launch) {
  using Plain = typename FormsOf<type>::Plain;
  using Ordered = typename FormsOf<type>::Ordered;
  using Averaged = typename FormsOf<type>::Averaged;
  const Rank& rank = launch.rank;
  const Work& work = launch.inline_works[0];
  std::uint64_t* count = rank.exchange.counts + blockIdx.x;
  const std::uint64_t number = *count;
  const std::uint64_t bytes = work.input_layout.count * size_of(type);
  const Exchange exchange{rank,       work,
                          blockIdx.x, launch.channels,
                          number,     flag_of(number),
                          bytes,      (bytes + kLinePayload - 1) / kLinePayload};
  switch (work.fold.op) {
    case ReduceOp::prod:
      exchange_with<Plain>(exchange, Product<typename Plain::Acc>());
      break;
    case ReduceOp::max:
      exchange_with<Ordered>(exchange, Maximum<typename Ordered::Acc>());
      break;
    case ReduceOp::min:
      exchange_with<Ordered>(exchange, Minimum<typename Ordered::Acc>());
      break;
    case ReduceOp::avg:
      exchange_with<Averaged>(exchange, Average<typename Averaged::Acc>(work.fold.ranks));
      break;
    default:
      exchange_with<Plain>(exchange, Sum<typename Plain::Acc>());
      break;
  }
  __syncthreads();
  if (threadIdx.x == 0) *count = number + 1;
}

}  // namespace gyre::device
