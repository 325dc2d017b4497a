// The one-shot all-reduce of a small message in a straight line: every rank writes its input to
// every other one, in lines of 16 bytes of which 8 are flags (the LL protocol of NCCL), and folds
// what arrives in rank order. There are no credits and no fences: a line says itself that it is
// there.
//
// Two buffers in turn suffice. A rank writes for exchange k + 2 over what it wrote for k only after
// it has seen all of k + 1, which each peer sent after it was done with k.
//
// The first line of a channel says which call it is of.
#pragma once

#include "kernels/device/access.cuh"
#include "kernels/device/element.cuh"
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
  std::uint32_t flag;    // never 0, and not that of the exchange before in the same buffer
  std::uint64_t buffer;  // which of the two
  std::uint64_t bytes;
  std::uint64_t lines;  // of the whole message

  // The line of this channel at `receiver` that `sender` writes.
  __device__ uint4* line(std::uint32_t receiver, std::uint32_t sender, std::uint32_t index) const {
    const std::uint64_t row = (buffer * rank.world + sender) * rank.channels + channel;
    return reinterpret_cast<uint4*>(rank.exchange.inboxes[receiver]) + row * (kExchangeLines + 1) +
           index;
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

__device__ inline void send_line(const Exchange& exchange, std::uint32_t index, std::uint32_t low,
                                 std::uint32_t high) {
  const Rank& rank = exchange.rank;
  for (std::uint32_t i = 1; i < rank.world; ++i) {
    std::uint32_t peer = rank.rank + i;  // not everybody to the same one first
    if (peer >= rank.world) peer -= rank.world;
    store_line(exchange.line(peer, rank.rank, index),
               make_uint4(low, exchange.flag, high, exchange.flag));
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
      const bool there = sender >= rank.world || sender == rank.rank ||
                         (lines[i].y == exchange.flag && lines[i].w == exchange.flag);
      if (!there) missing = i;
    }
    if (missing == kLinesTogether) return true;
    const bool lasts = patience.lasts(
        [&] { report(rank, Fault::timeout, first + missing, exchange.matter(), {}); });
    if (!lasts) return false;
  }
}

// Whether every peer is in the same call; its first line says which. One thread a peer.
__device__ inline bool agree(const Exchange& exchange) {
  const Rank& rank = exchange.rank;
  bool going = true;
  for (std::uint32_t peer = threadIdx.x; peer < rank.world; peer += kThreads) {
    if (peer == rank.rank) continue;
    const uint4* from = exchange.line(rank.rank, peer, 0);
    Patience patience(rank);
    uint4 line = load_line(from);
    while (going && (line.y != exchange.flag || line.w != exchange.flag)) {
      going = patience.lasts([&] { report(rank, Fault::timeout, peer, exchange.matter(), {}); });
      line = load_line(from);
    }
    // The stamp's upper half is the call's number, the lower one its count.
    const auto stamp = static_cast<std::uint32_t>(exchange.work.stamp ^ exchange.work.stamp >> 32);
    if (!going || (line.x == exchange.work.tag && line.z == stamp)) continue;
    report(rank, Fault::other_call, peer, exchange.matter(), {0, line.x, 0});
    going = false;
  }
  return going;
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
    const std::uint64_t stamp = exchange.work.stamp;
    send_line(exchange, 0, exchange.work.tag, static_cast<std::uint32_t>(stamp ^ stamp >> 32));
  }
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint64_t at = exchange.line_of(round);
    if (at == exchange.lines) break;
    const std::uint64_t payload = load_payload<Code>(exchange, at);
    send_line(exchange, 1 + round * kThreads + threadIdx.x, static_cast<std::uint32_t>(payload),
              static_cast<std::uint32_t>(payload >> 32));
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
  const Exchange exchange{rank,
                          work,
                          blockIdx.x,
                          launch.channels,
                          static_cast<std::uint32_t>(number % 0x7fff'ffff) + 1,
                          number % kExchangeBuffers,
                          bytes,
                          (bytes + kLinePayload - 1) / kLinePayload};
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
