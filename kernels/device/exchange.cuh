// The one-shot all-reduce of a small message in a straight line: every rank writes its input to
// every other one, in lines of 16 bytes of which 8 are flags (the LL protocol of NCCL), and folds
// what arrives in rank order. There are no credits and no fences: a line says itself that it is
// there.
//
// Two buffers in turn suffice. A rank writes for exchange k + 2 over what it wrote for k only after
// it has seen all of k + 1, which each peer sent after it was done with k.
//
// The first line of a channel says which call it is of (meeting.cuh).
#pragma once

#include "kernels/device/access.cuh"
#include "kernels/device/element.cuh"
#include "kernels/device/meeting.cuh"
#include "kernels/device/operation.cuh"

namespace gyre::device {

// Lines of so many ranks are on their way to a thread at the same time.
inline constexpr std::uint32_t kLinesTogether = 8;

// One block's share of an exchange.
struct Exchange : Meeting {
  std::uint32_t channels;
  std::uint64_t bytes;
  std::uint64_t lines;  // of the whole message

  // The message's line that this thread has in a round, or `lines`: none.
  __device__ std::uint64_t line_of(std::uint32_t round) const {
    const std::uint64_t at = (std::uint64_t{round} * channels + channel) * blockDim.x + threadIdx.x;
    return at < lines ? at : lines;
  }
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
        lines[i] = load_line(exchange.line_from(sender, index));
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

// Folds the message's line `at`, in rank order. False: stop.
template <class Form, class Operation>
__device__ __forceinline__ bool fold_line(const Exchange& exchange, const Operation& operation,
                                          std::uint64_t at, std::uint32_t index,
                                          std::uint64_t own) {
  using Code = typename Form::Code;
  using Acc = typename Form::Acc;
  constexpr int kElements = kLinePayload / sizeof(Code);
  Acc acc[kElements];
#pragma unroll 1
  for (std::uint32_t first = 0; first < exchange.rank.world; first += kLinesTogether) {
    uint4 lines[kLinesTogether];
    if (!receive_lines(exchange, first, index, lines)) return false;
#pragma unroll
    for (std::uint32_t i = 0; i < kLinesTogether; ++i) {
      const std::uint32_t sender = first + i;
      if (sender >= exchange.rank.world) break;
      const std::uint64_t theirs = data_of(lines[i]);
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

// The message is in flight while the channel's count is: neither needs the other.
template <class Form, class Operation>
__device__ __noinline__ void exchange_with(const Launch& launch, Operation operation) {
  using Code = typename Form::Code;
  constexpr std::uint32_t kRounds = kExchangeLines / kThreads;
  const Rank& rank = launch.rank;
  const Work& work = launch.inline_works[0];
  std::uint64_t* count = rank.exchange.counts + blockIdx.x;
  const std::uint64_t number = *count;
  const std::uint64_t bytes = work.input_layout.count * sizeof(Code);
  const Exchange exchange{{rank, launch.inboxes, work, blockIdx.x, number, flag_of(number)},
                          launch.channels,
                          bytes,
                          (bytes + kLinePayload - 1) / kLinePayload};
  std::uint64_t payloads[kRounds];
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint64_t at = exchange.line_of(round);
    if (at < exchange.lines) payloads[round] = load_payload<Code>(exchange, at);
  }
  greet(exchange);
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    if (exchange.line_of(round) == exchange.lines) break;
    send_line(exchange, 1 + round * blockDim.x + threadIdx.x,
              line_of(payloads[round], exchange.flag));
  }
  if (!agree(exchange)) return;
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint64_t at = exchange.line_of(round);
    const std::uint32_t index = 1 + round * blockDim.x + threadIdx.x;
    if (at == exchange.lines) break;
    if (!fold_line<Form>(exchange, operation, at, index, payloads[round])) return;
  }
  __syncthreads();
  if (threadIdx.x == 0) *count = number + 1;
}

// Not for premulsum, and not for averages that may have to be summed again (kRescues).
template <DataType type>
__device__ void run_exchange(const Launch& launch) {
  using Plain = typename FormsOf<type>::Plain;
  using Ordered = typename FormsOf<type>::Ordered;
  using Averaged = typename FormsOf<type>::Averaged;
  const Fold& fold = launch.inline_works[0].fold;
  switch (fold.op) {
    case ReduceOp::prod:
      return exchange_with<Plain>(launch, Product<typename Plain::Acc>());
    case ReduceOp::max:
      return exchange_with<Ordered>(launch, Maximum<typename Ordered::Acc>());
    case ReduceOp::min:
      return exchange_with<Ordered>(launch, Minimum<typename Ordered::Acc>());
    case ReduceOp::avg:
      return exchange_with<Averaged>(launch, Average<typename Averaged::Acc>(fold.ranks));
    default:
      return exchange_with<Plain>(launch, Sum<typename Plain::Acc>());
  }
}

}  // namespace gyre::device
