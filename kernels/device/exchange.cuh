// Small messages in a straight line: ranks write to each other in lines of 16 bytes of which 8 are
// flags (the LL protocol of NCCL), and fold what arrives in rank order, or keep it block by block.
// There are no credits and no fences: a line says itself that it is there.
//
//                                  folds            keeps
//   all send the same to all       all-reduce       all-gather
//   all send a block to each       reduce-scatter   all-to-all
//   all send to the root           reduce           gather
//   the root sends the same                         broadcast
//   the root sends a block to each                  scatter
//
// Whoever sends nothing says that it is in the call, and all wait for all: a root does not run
// ahead.
//
// Two buffers in turn suffice. A rank writes for exchange k + 2 over what it wrote for k only after
// it has seen all of k + 1, which each peer sent after it was done with k.
//
// In place: a thread has read its lines of all blocks before it writes the first of them, and no
// other thread has these lines.
//
// What is longer than a channel's lines goes in passes, each a meeting of its own. A barrier lies
// between them, so that what holds for calls holds for passes.
//
// The first line of a channel says which call it is of (meeting.cuh).
#pragma once

#include "kernels/device/access.cuh"
#include "kernels/device/element.cuh"
#include "kernels/device/meeting.cuh"
#include "kernels/device/operation.cuh"

namespace gyre::device {

// Lines of so many ranks are on their way to a thread at the same time.
inline constexpr std::uint32_t kLinesTogether = 4;

// Of the message from one rank to another: few enough to be counted in 32 bits (kExchangePasses),
// of which there are none to spare.
__device__ inline std::uint32_t lines_of(const Work& work) {
  const std::uint64_t bytes = work.input_layout.count * work.element_bytes;
  return static_cast<std::uint32_t>((bytes + kLinePayload - 1) / kLinePayload);
}

// A thread block's share of a pass.
struct Exchange : Meeting {
  std::uint32_t channels;
  std::uint64_t bytes;  // of the message from one rank to another
  std::uint32_t lines;  // likewise
  std::uint32_t done;   // lines of the passes before

  // The message's line that this thread has in a round, or `lines`: none.
  __device__ std::uint32_t line_of(std::uint32_t round) const {
    const std::uint32_t at = done + (round * channels + channel) * blockDim.x + threadIdx.x;
    return at < lines ? at : lines;
  }
  __device__ bool sends() const {
    return work.only_sender == kEveryRank || work.only_sender == rank.rank;
  }
  __device__ bool receives() const {
    return work.only_receiver == kEveryRank || work.only_receiver == rank.rank;
  }
  // Whether this rank hears from another one.
  __device__ bool awaits(std::uint32_t sender) const {
    return sender < rank.world && sender != rank.rank &&
           (work.only_sender == kEveryRank || work.only_sender == sender);
  }
  // What `receiver` gets, and where what `sender` sent is kept.
  __device__ const std::byte* sent_to(std::uint32_t receiver) const {
    return work.input + (work.sends_blocks ? receiver * bytes : 0);
  }
  __device__ std::byte* kept_from(std::uint32_t sender) const {
    return work.output + (work.only_sender == kEveryRank ? sender * bytes : 0);
  }
};

// The 8 bytes of a message's line `at`, fewer at its end; any alignment.
template <class Code>
__device__ __forceinline__ std::uint64_t load_payload(const Exchange& exchange,
                                                      const std::byte* message, std::uint32_t at) {
  const std::byte* from = message + std::uint64_t{at} * kLinePayload;
  const std::uint64_t left = exchange.bytes - std::uint64_t{at} * kLinePayload;
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
__device__ __forceinline__ void store_payload(const Exchange& exchange, std::byte* message,
                                              std::uint32_t at, std::uint64_t payload) {
  std::byte* to = message + std::uint64_t{at} * kLinePayload;
  const std::uint64_t left = exchange.bytes - std::uint64_t{at} * kLinePayload;
  if (left >= kLinePayload && address_of(to) % kLinePayload == 0) {
    *reinterpret_cast<std::uint64_t*>(to) = payload;
    return;
  }
  for (std::uint32_t i = 0; i < kLinePayload && i < left; i += sizeof(Code)) {
    store_element<Code>(to + i, static_cast<Code>(payload >> (8 * i)));
  }
}

// Sends line `at` of everybody's message as line `index`; `own` is that of this rank's.
template <class Code>
__device__ __forceinline__ void send_payloads(const Exchange& exchange, std::uint32_t at,
                                              std::uint32_t index, std::uint64_t own) {
  const Work& work = exchange.work;
  const uint4 line = line_of(own, exchange.flag);
  if (work.only_receiver != kEveryRank) {
    if (!exchange.receives()) store_line(exchange.line_to(work.only_receiver, index), line);
    return;
  }
  if (!work.sends_blocks) return send_line(exchange, index, line);
  const Rank& rank = exchange.rank;
  for (std::uint32_t i = 1; i < rank.world; ++i) {
    const std::uint32_t peer = later_rank(rank, i);
    const std::uint64_t payload = load_payload<Code>(exchange, exchange.sent_to(peer), at);
    store_line(exchange.line_to(peer, index), line_of(payload, exchange.flag));
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
      if (exchange.awaits(sender)) lines[i] = load_line(exchange.line_from(sender, index));
    }
#pragma unroll
    for (std::uint32_t i = 0; i < kLinesTogether; ++i) {
      const std::uint32_t sender = first + i;
      if (exchange.awaits(sender) && !has_flag(lines[i], exchange.flag)) missing = i;
    }
    if (missing == kLinesTogether) return true;
    const auto hopeless = [] { return false; };  // agree() looks after that
    const auto late = [&] { report(rank, Fault::timeout, first + missing, exchange.matter(), {}); };
    if (!patience.lasts(hopeless, late)) return false;
  }
}

// Folds line `at` of all messages, in rank order. False: stop.
template <class Form, class Operation>
__device__ __forceinline__ bool fold_line(const Exchange& exchange, const Operation& operation,
                                          std::uint32_t at, std::uint32_t index,
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
  store_payload<Code>(exchange, exchange.work.output, at, result);
  return true;
}

// Keeps line `at` of all messages, each in its sender's block. False: stop.
__device__ __forceinline__ bool keep_line(const Exchange& exchange, std::uint32_t at,
                                          std::uint32_t index, std::uint64_t own) {
#pragma unroll 1
  for (std::uint32_t first = 0; first < exchange.rank.world; first += kLinesTogether) {
    uint4 lines[kLinesTogether];
    if (!receive_lines(exchange, first, index, lines)) return false;
#pragma unroll
    for (std::uint32_t i = 0; i < kLinesTogether; ++i) {
      const std::uint32_t sender = first + i;
      const bool is_own = sender == exchange.rank.rank && exchange.sends();
      if (!is_own && !exchange.awaits(sender)) continue;
      store_payload<std::uint8_t>(exchange, exchange.kept_from(sender), at,
                                  is_own ? own : data_of(lines[i]));
    }
  }
  return true;
}

// `finish` does what is to be done with a line of all messages. The messages are in flight while
// the channel's count is: neither needs the other. False: stop.
template <class Code, class Finish>
__device__ __forceinline__ bool exchange_lines(const Launch& launch, std::uint32_t pass,
                                               Finish finish) {
  constexpr std::uint32_t kRounds = kExchangeLines / kThreads;
  const Rank& rank = launch.rank;
  const Work& work = launch.inline_works[0];
  const std::uint64_t number = rank.exchange.counts[blockIdx.x] + pass;
  const Exchange exchange{{rank, launch.inboxes, work, blockIdx.x, number, flag_of(number)},
                          launch.channels,
                          work.input_layout.count * work.element_bytes,
                          lines_of(work),
                          pass * launch.channels * kExchangeLines};
  std::uint64_t payloads[kRounds];
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint32_t at = exchange.line_of(round);
    payloads[round] = exchange.sends() && at < exchange.lines
                          ? load_payload<Code>(exchange, exchange.sent_to(rank.rank), at)
                          : 0;
  }
  greet(exchange);
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint32_t at = exchange.line_of(round);
    if (!exchange.sends() || at == exchange.lines) break;
    send_payloads<Code>(exchange, at, 1 + round * blockDim.x + threadIdx.x, payloads[round]);
  }
  if (!agree(exchange)) return false;
#pragma unroll
  for (std::uint32_t round = 0; round < kRounds; ++round) {
    const std::uint32_t at = exchange.line_of(round);
    const std::uint32_t index = 1 + round * blockDim.x + threadIdx.x;
    if (!exchange.receives() || at == exchange.lines) break;
    if (!finish(exchange, at, index, payloads[round])) return false;
  }
  return true;
}

// `run` runs a pass. Blocks that have few threads have few lines, and one pass.
template <class Run>
__device__ __forceinline__ void run_passes(const Launch& launch, Run run) {
  const std::uint32_t together = launch.channels * kExchangeLines;
  std::uint32_t pass = 0;
#pragma unroll 1
  do {
    if (!run(pass)) return;
    __syncthreads();
  } while (++pass * together < lines_of(launch.inline_works[0]));
  if (threadIdx.x == 0) launch.rank.exchange.counts[blockIdx.x] += pass;
}

template <class Form, class Operation>
__device__ __noinline__ void exchange_with(const Launch& launch, Operation operation) {
  const auto fold = [&](const Exchange& exchange, std::uint32_t at, std::uint32_t index,
                        std::uint64_t own) {
    return fold_line<Form>(exchange, operation, at, index, own);
  };
  run_passes(launch, [&](std::uint32_t pass) {
    return exchange_lines<typename Form::Code>(launch, pass, fold);
  });
}

__device__ inline void exchange_blocks(const Launch& launch) {
  const auto keep = [](const Exchange& exchange, std::uint32_t at, std::uint32_t index,
                       std::uint64_t own) { return keep_line(exchange, at, index, own); };
  run_passes(launch,
             [&](std::uint32_t pass) { return exchange_lines<std::uint8_t>(launch, pass, keep); });
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
