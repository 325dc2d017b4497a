// From calls to kernels, for ranks on a device: what compose.cc is for host ranks. Nothing here
// waits for a peer or for the device.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/contain.hpp"
#include "comm/call_shapes.hpp"
#include "comm/communicator.hpp"
#include "comm/device_rank.hpp"
#include "comm/device_work.hpp"
#include "transport/device/leftovers.hpp"

namespace gyre {
namespace {

std::uint32_t kernel_of(const Call& call) {
  return reduces(call.kind) ? static_cast<std::uint32_t>(call.type) : device::kCopyKernel;
}

void describe_exchange(const Call& call, device::Work& work) {
  const auto root = static_cast<std::uint32_t>(call.root);
  const CallKind kind = call.kind;
  work.sends_blocks =
      kind == CallKind::reduce_scatter || kind == CallKind::all_to_all || kind == CallKind::scatter;
  if (kind == CallKind::broadcast || kind == CallKind::scatter) work.only_sender = root;
  if (kind == CallKind::reduce || kind == CallKind::gather) work.only_receiver = root;
}

}  // namespace

Result<void> Communicator::check_buffers(const Call& call) const {
  if (device_ == nullptr) return {};
  const Roles roles = roles_of(call, rank_);
  if (call.count == 0 && call.blocks == nullptr) return {};
  if (roles.reads) GYRE_TRY(device_->check_buffer(call.input, "send"));
  if (!roles.writes || (roles.reads && call.output == call.input)) return {};
  return device_->check_buffer(call.output, "receive");
}

const DevicePlannedCall& Communicator::device_planned(const Call& call) {
  DevicePlannedCall& planned = device_planned_;
  if (planned.is_of(call)) return planned;
  planned = {};
  static_cast<PlannedCall&>(planned) = {call.kind,  call.type, call.op, call.root,
                                        call.count, nullptr,   {},      0};
  const Algorithm algorithm = device_algorithm(call, plan_facts_);
  const Program& program = program_for(call, algorithm);
  const auto [found, fresh] = device_schedules_.try_emplace({call.kind, algorithm, call.root});
  if (fresh) found->second = device_schedule(call, plan_facts_, algorithm);
  const DevicePlan made =
      device_plan(call, rank_, plan_facts_, device_->facts(), algorithm, found->second, program);
  planned.plan = made.plan;
  planned.channels = made.channels;
  planned.striped = made.striped;
  planned.exchange = made.exchange;
  planned.threads = made.threads;
  planned.asks = made.asks;
  planned.mapped_slice = made.mapped_slice;
  planned.mapped_tiles = made.mapped_tiles;
  planned.offers = std::any_of(program.steps, program.steps + program.step_count,
                               [](const Step& step) { return step.offer.exists(); });
  planned.program = &program;
  return planned;
}

// Host tables that the layouts of calls with a count per rank point into are copied to where
// kernels read them.
Result<void> Communicator::move_tables(const Call& call, device::Work& work) {
  if (call.blocks == nullptr) return {};
  const std::size_t bytes = static_cast<std::size_t>(world_) * sizeof(std::uint64_t);
  GYRE_TRY_ASSIGN(std::byte* const memory, device_->staging(4 * bytes));
  std::size_t at = 0;
  const auto move = [&](const std::uint64_t*& table) {
    if (table == nullptr) return;
    std::memcpy(memory + at, table, bytes);
    table = reinterpret_cast<const std::uint64_t*>(memory + at);
    at += bytes;
  };
  for (Layout* layout : {&work.input_layout, &work.output_layout}) {
    move(layout->offsets);
    move(layout->counts);
  }
  return {};
}

// Tells the peers' kernels which memory the call works on, for them to map.
void Communicator::offer_buffers(const Call& call, device::Work& work) {
  work.asks = true;
  work.mapped_slice = device_planned_.mapped_slice;
  work.mapped_tiles = device_planned_.mapped_tiles;
  const Roles roles = roles_of(call, rank_);
  const auto offer = [&](const void* buffer, const Layout& layout) {
    return device_->offer(buffer, layout.end() * work.element_bytes);
  };
  if (roles.reads) work.input_allocation = offer(call.input, work.input_layout);
  if (roles.writes) work.output_allocation = offer(call.output, work.output_layout);
}

Result<void> Communicator::enqueue_collective(const Call& call, gyreStream_t stream) {
  const DevicePlannedCall& planned = device_planned(call);
  device::Work work = device_work(call, collectives_, world_);
  work.input_layout = planned.plan.input;
  work.output_layout = planned.plan.output;
  work.tiles = planned.plan.tiles;
  work.by_reference = planned.plan.by_reference;
  work.channels = planned.channels;
  work.offers = planned.offers;
  work.striped = planned.striped;
  if (planned.exchange) describe_exchange(call, work);
  if (planned.asks) offer_buffers(call, work);
  GYRE_TRY(move_tables(call, work));
  const std::uint64_t scratch = planned.program->scratch_chunks * planned.plan.input.slice *
                                work.element_bytes * planned.channels;
  if (scratch != 0) {
    GYRE_TRY_ASSIGN(work.scratch, device_->temporary(scratch, stream));
  }
  device::Launch launch;
  launch.program = *planned.program;
  launch.chains = planned.program->strand_count;
  launch.channels = planned.channels;
  for (std::uint32_t strand = 0; strand < launch.chains; ++strand) {
    work.strand = static_cast<std::uint16_t>(strand);
    launch.inline_works[strand] = work;
  }
  if (planned.exchange) launch.chains = 1;
  const std::uint32_t kernel =
      planned.exchange ? device::kExchangeKernels + kernel_of(call) : kernel_of(call);
  Result<void> launched = device_->launch(kernel, launch, planned.threads, stream);
  if (launched && call.blocks != nullptr) launched = device_->staged(stream);
  return released(std::move(launched), work.scratch, stream);
}

// What was done with temporary memory, if any, once that is given back.
Result<void> Communicator::released(Result<void> done, std::byte* memory, gyreStream_t stream) {
  if (memory == nullptr) return done;
  Result<void> given = device_->release(memory, stream);
  return done ? std::move(given) : std::move(done);
}

// The same messages, in the same chains and channels, on both sides: see MessageSpread.
Result<void> Communicator::enqueue_messages(std::span<const Call> messages, CallTag tag,
                                            std::uint64_t number, gyreStream_t stream) {
  if (messages.empty()) return {};
  if (!message_chains_) message_chains_.emplace(rank_, world_, device_->facts());
  MessageChains& chains = *message_chains_;
  chains.arrange(messages, tag, number);
  device::Launch launch;
  launch.program = chains.program();
  launch.chains = chains.chains();
  launch.channels = chains.channels();
  const auto works = chains.works();
  if (works.size() <= device::kInlineWorks) {
    std::copy(works.begin(), works.end(), launch.inline_works);
    return device_->launch(device::kCopyKernel, launch, device::kThreads, stream);
  }
  GYRE_TRY_ASSIGN(std::byte* const memory, device_->staging(works.size_bytes()));
  std::memcpy(memory, works.data(), works.size_bytes());
  launch.works = reinterpret_cast<const device::Work*>(memory);
  GYRE_TRY(device_->launch(device::kCopyKernel, launch, device::kThreads, stream));
  return device_->staged(stream);
}

// Sends to itself are copies; each has its receive in the same group.
Result<void> Communicator::enqueue_self_copies(std::span<const Call> calls, gyreStream_t stream) {
  std::vector<const Call*> sends;
  std::vector<const Call*> receives;
  for (const Call& call : calls) {
    if (call.root != rank_) continue;
    if (call.kind == CallKind::send) sends.push_back(&call);
    if (call.kind == CallKind::receive) receives.push_back(&call);
  }
  GYRE_TRY(check_messages_to_self(rank_, sends, receives));
  for (std::size_t i = 0; i < sends.size(); ++i) {
    const std::size_t bytes = sends[i]->count * size_of(sends[i]->type);
    if (bytes == 0 || sends[i]->input == receives[i]->output) continue;
    GYRE_TRY(device_->copy(receives[i]->output, sends[i]->input, bytes, stream));
  }
  return {};
}

// All-to-all-v is messages under the tag and the number of one collective.
Result<void> Communicator::enqueue_all_to_all_v(const Call& call, gyreStream_t stream) {
  std::vector<Call>& messages = block_messages_;
  find_messages(call, rank_, world_, messages);
  GYRE_TRY(enqueue_self_copies(messages, stream));
  std::erase_if(messages, [&](const Call& message) { return message.root == rank_; });
  return enqueue_messages(messages, CallTag::of(call), collectives_, stream);
}

// What is sent in place is copied aside first, but for an exchange, which reads before it writes.
Result<void> Communicator::enqueue_all_to_all(const Call& call, gyreStream_t stream) {
  Call one = call;
  std::byte* aside = nullptr;
  const std::uint64_t bytes = sent_elements(call, world_) * size_of(call.type);
  const bool reads_first = call.kind == CallKind::all_to_all && device_planned(call).exchange;
  if (call.input == call.output && call.input != nullptr && bytes != 0 && !reads_first) {
    GYRE_TRY_ASSIGN(aside, device_->temporary(bytes, stream));
    one.input = aside;
  }
  Result<void> done;
  if (aside != nullptr) done = device_->copy(aside, call.input, bytes, stream);
  if (done) {
    done = call.kind == CallKind::all_to_all_v ? enqueue_all_to_all_v(one, stream)
                                               : enqueue_collective(one, stream);
  }
  return released(std::move(done), aside, stream);
}

Result<void> Communicator::enqueue_all(std::span<const Call> calls, gyreStream_t stream) {
  std::vector<Call> messages;
  for (const Call& call : calls) {
    if (is_message(call)) {
      messages.push_back(call);
      continue;
    }
    count_collective(call);
    if (is_empty(call)) continue;
    GYRE_TRY(is_all_to_all(call) ? enqueue_all_to_all(call, stream)
                                 : enqueue_collective(call, stream));
  }
  if (messages.empty()) return {};
  GYRE_TRY(enqueue_self_copies(messages, stream));
  std::erase_if(messages, [&](const Call& message) { return message.root == rank_; });
  return enqueue_messages(messages, CallTag{}, 0, stream);
}

Result<void> Communicator::enqueue(std::span<const Call> calls,
                                   std::span<const gyreStream_t> streams) {
  // An errand's thread runs calls meanwhile.
  const Inside inside(issuing_);
  if (state() == State::closed) {
    return Error{Status::aborted, "the communicator was destroyed before this call could run"};
  }
  if (abort_.raised()) return abort_.reason();
  const auto enqueueing = Leftovers::of_process().enqueueing();
  return contained("enqueueing a call", [&]() -> Result<void> {
    GYRE_TRY(device_->begin(streams));
    Result<void> enqueued = errands_ != nullptr ? enqueue_errands(calls, streams.front())
                                                : enqueue_all(calls, streams.front());
    // Also after an error: what is on the stream already is ordered before what follows.
    GYRE_TRY(device_->end(streams));
    return enqueued;
  });
}

}  // namespace gyre
