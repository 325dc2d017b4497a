// From calls to launches: plan, program, layouts, strands.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "comm/call_shapes.hpp"
#include "comm/communicator.hpp"
#include "kernels/host/reduce.hpp"

namespace gyre {
namespace {

// The number of messages, which have no place in the order of collectives.
constexpr std::uint64_t kNoNumber = 0;

// A root that refers several peers to its memory must wait for all of them; one that copies has
// done. Measured with 4 ranks on 2 cores: below, one copy for all of them is faster.
constexpr std::uint64_t kLeastFromRoot = 64 << 10;

// Of a whole buffer; blocks of various sizes count as none.
std::uint64_t elements_of(const Layout& layout) {
  switch (layout.kind) {
    case Layout::Kind::tiled:
    case Layout::Kind::parted:
      return layout.count;
    case Layout::Kind::blocked:
      return layout.count * layout.chunks;
    case Layout::Kind::table:
      break;
  }
  return 0;
}

// Whether results are read again, which past the caches they must not be.
bool reads_back(const Program& program) {
  return std::any_of(program.steps, program.steps + program.step_count, [](const Step& step) {
    return step.source.exists() && step.source.side != Side::input;
  });
}

Layout one_block(std::uint64_t count, std::uint64_t slice) {
  Layout layout;
  layout.kind = Layout::Kind::blocked;
  layout.count = count;
  layout.stride = count;
  layout.slice = slice;
  return layout;
}

// Whether each rank of such a schedule sends each other one at most one message, of what it was
// given, and nothing that it got.
bool sends_directly(Algorithm algorithm) {
  return algorithm == Algorithm::one_shot || algorithm == Algorithm::direct ||
         algorithm == Algorithm::pairwise;
}

// Whether the call is small enough for the short form of direct schedules, which sends what it was
// given.
bool has_short_form(const PlannedCall& call, const PlanFacts& facts) {
  const bool scales = reduces(call.kind) && call.op == ReduceOp::premulsum;
  return facts.short_form[index_of(call.kind)] && is_exchange(call.kind) && !scales &&
         sends_directly(call.plan.algorithm) && call.plan.tiles == 1 && call.program->world > 1 &&
         call.count * size_of(call.type) <= ExchangeRun::most_bytes(call.program->world);
}

// Each strand of the program is a chain of its own.
void add_strands(Work work, Launch& launch) {
  for (work.strand = 0; work.strand < work.program->strand_count; ++work.strand) {
    launch.open_chain();
    launch.add(work);
  }
}

}  // namespace

Work Communicator::work_of(const Call& call, CallTag tag, std::uint64_t number) const {
  Work work;
  work.input = call.input;
  work.output = call.output;
  work.fold.type = call.type;
  work.fold.op = call.op;
  const auto* scalar = static_cast<const std::byte*>(call.scalar);
  const Factor factor =
      scalar != nullptr ? read_factor(scalar, call.type) : Factor{call.scale, call.scale_bits};
  work.fold.scale = factor.scale;
  work.fold.scale_bits = factor.bits;
  work.fold.ranks = world_;
  work.reducing = reduces(call.kind);
  work.tag = tag;
  work.stamp = CallStamp::of(call.count, number);
  work.by_call = call.kind == CallKind::all_gather || call.kind == CallKind::all_gather_v ||
                 is_all_to_all(call) || is_message(call);
  return work;
}

const Program& Communicator::program_for(const Call& call, Algorithm algorithm) {
  const auto key = std::tuple(call.kind, algorithm, call.root);
  const auto found = programs_.find(key);
  if (found != programs_.end()) return found->second;
  return programs_
      .emplace(key, build_program(call.kind, algorithm, rank_, world_, call.root,
                                  plan_facts_.ranks_per_host))
      .first->second;
}

const PlannedCall& Communicator::planned(const Call& call) {
  if (planned_.is_of(call)) return planned_;
  planned_ = {call.kind,  call.type, call.op, call.root,
              call.count, nullptr,   {},      planned_.number + 1};
  const Choice choice = choice_for(call, plan_facts_);
  const Program& program = program_for(call, choice.algorithm);
  planned_.plan = make_plan(call, rank_, plan_facts_, choice, program);
  planned_.program = &program;  // last: the program may have found no memory
  return planned_;
}

// Room for the program's scratch chunks, or none.
Result<std::byte*> Communicator::scratch_for(const PlannedCall& planned, Launch& launch) {
  const std::uint64_t bytes =
      planned.program->scratch_chunks * planned.plan.input.slice * size_of(planned.type);
  if (launch.scratch.size() < bytes) {
    GYRE_TRY_ASSIGN(launch.scratch, Mapping::anonymous(round_up(bytes, page_size())));
  }
  return launch.scratch.data();
}

// Whether results go past the caches, or what finds that out.
void Communicator::choose_streams(const PlannedCall& planned, Work& work, Launch& launch) {
  if (reads_back(*planned.program)) return;
  const std::uint64_t bytes = elements_of(planned.plan.output) * size_of(planned.type);
  if (!settings_.stream_bytes) launch.route = executor_->result_routes().of(planned.kind, bytes);
  const auto least = static_cast<std::uint64_t>(
      settings_.stream_bytes.value_or(std::int64_t{ResultRoutes::kPastBytes}));
  work.streams = bytes >= least;
}

Result<void> Communicator::compose_collective(const Call& call, std::size_t& used) {
  const PlannedCall& planned = this->planned(call);
  Launch& launch = next_launch(used);
  // The same call as the launch's last one: only the buffers and the number differ. (A factor may
  // differ as well.)
  const bool again = launch.recipe == planned.number && call.op != ReduceOp::premulsum;
  if (again) {
    launch.restart(call.input, call.output, CallStamp::of(call.count, collectives_));
    launch.choose_way();
    return {};
  }
  launch.clear();
  Work work = work_of(call, CallTag::of(call), collectives_);
  work.program = planned.program;
  work.tiles = planned.plan.tiles;
  work.input_layout = planned.plan.input;
  work.output_layout = planned.plan.output;
  work.by_reference = planned.plan.by_reference;
  work.least_referred = has_root(planned.kind) && world_ > 2 ? kLeastFromRoot : 0;
  GYRE_TRY_ASSIGN(work.scratch, scratch_for(planned, launch));
  if (has_short_form(planned, plan_facts_)) {
    const std::uint64_t bytes = call.count * size_of(call.type);
    launch.exchange.emplace(
        work, exchange_of(call, bytes, static_cast<std::uint32_t>(rank_), planned.program->world),
        call.count);
  } else {
    choose_streams(planned, work, launch);
    add_strands(work, launch);
    launch.choose_way();
  }
  launch.recipe = planned.number;  // last: it may have been left half made
  return {};
}

void Communicator::add_message(const Call& message, CallTag tag, std::uint64_t number,
                               Launch& launch) {
  Work work = work_of(message, tag, number);
  work.program = &program_for(message, Algorithm::pairwise);
  work.input_layout = work.output_layout =
      one_block(message.count, largest_slice(message.type, plan_facts_.slot_bytes));
  work.tiles = work.input_layout.tiles();
  launch.add(work);
}

void Communicator::add_self_copy(const Call& send, const Call& receive, Launch& launch) {
  if (send.count == 0) return;
  static const Program copy_here = build_program(CallKind::all_gather, Algorithm::direct, 0, 1, 0);
  Work work = work_of(send, CallTag::of(send), kNoNumber);
  work.output = receive.output;
  work.program = &copy_here;
  work.input_layout = work.output_layout =
      one_block(send.count, largest_slice(send.type, plan_facts_.slot_bytes));
  work.tiles = work.input_layout.tiles();
  launch.open_chain();
  launch.add(work);
}

// Messages between one pair of ranks, in one direction, run in order; everything else side by side.
Result<void> Communicator::compose_messages(std::span<const Call> calls, Launch& launch) {
  messages_.clear();
  for (const Call& call : calls) {
    if (is_message(call)) messages_.push_back(&call);
  }
  // Equal ones stay in issue order: they lie so in memory.
  std::sort(messages_.begin(), messages_.end(), [](const Call* one, const Call* other) {
    return std::tuple(one->kind, one->root, one) < std::tuple(other->kind, other->root, other);
  });
  std::span<const Call* const> sends_to_self;
  std::span<const Call* const> receives_from_self;
  for (std::span<const Call* const> rest = messages_; !rest.empty();) {
    const Call& first = *rest.front();
    const auto end = std::find_if(rest.begin(), rest.end(), [&](const Call* call) {
      return call->kind != first.kind || call->root != first.root;
    });
    const auto alike = rest.first(static_cast<std::size_t>(end - rest.begin()));
    rest = rest.subspan(alike.size());
    if (first.root == rank_) {
      (first.kind == CallKind::send ? sends_to_self : receives_from_self) = alike;
      continue;
    }
    launch.open_chain();
    for (const Call* message : alike) {
      add_message(*message, CallTag::of(*message), kNoNumber, launch);
    }
  }
  return compose_messages_to_self(sends_to_self, receives_from_self, launch);
}

Result<void> Communicator::compose_messages_to_self(std::span<const Call* const> sends,
                                                    std::span<const Call* const> receives,
                                                    Launch& launch) {
  GYRE_TRY(check_messages_to_self(rank_, sends, receives));
  for (std::size_t i = 0; i < sends.size(); ++i) add_self_copy(*sends[i], *receives[i], launch);
  return {};
}

void Communicator::compose_all_to_all_v(const Call& call, Launch& launch) {
  const CallTag tag = CallTag::of(call);
  std::vector<Call>& messages = block_messages_;
  find_messages(call, rank_, world_, messages);
  for (std::size_t i = 0; i + 2 < messages.size(); ++i) {
    launch.open_chain();
    add_message(messages[i], tag, collectives_, launch);
  }
  add_self_copy(messages[messages.size() - 2], messages.back(), launch);
}

// All-to-all in place: every block of the buffer is sent and overwritten, so what is sent is copied
// aside first.
Result<Call> Communicator::copied_aside(const Call& call, std::size_t index) {
  const std::uint64_t bytes = sent_elements(call, world_) * size_of(call.type);
  if (bytes == 0) return call;
  if (aside_.size() <= index) aside_.resize(index + 1);
  if (aside_[index].size() < bytes) {
    GYRE_TRY_ASSIGN(aside_[index], Mapping::anonymous(round_up(bytes, page_size())));
  }
  copy(aside_[index].data(), call.input, bytes);
  Call aside = call;
  aside.input = aside_[index].data();
  return aside;
}

// Every collective takes part in the count, even one about nothing.
void Communicator::count_collective(const Call& call) {
  ++collectives_;
  const CallTag tag = CallTag::of(call);
  // Readers on other threads take the pair only if the stamp is the same before and after: each
  // store is ordered before the next.
  latest_stamp_.store(0, std::memory_order_relaxed);
  latest_tag_.store(tag.value, std::memory_order_release);
  latest_stamp_.store(CallStamp::of(call.count, collectives_).value, std::memory_order_release);
}

// Checked mode: before the call every rank sends every other an empty slot, whose header shows what
// it is about to do. Who differs is found before any buffer is touched.
void Communicator::compose_agreement(const Call& call, Launch& launch) {
  Call exchange;
  exchange.kind = CallKind::all_gather;
  Work work = work_of(call, CallTag::of(call), collectives_);
  work.input = nullptr;
  work.output = nullptr;
  work.reducing = false;
  const Program& program = program_for(exchange, Algorithm::direct);
  work.program = &program;
  work.input_layout = work.output_layout = one_block(0, 1);
  work.output_layout.chunks = static_cast<std::uint32_t>(world_);
  add_strands(work, launch);
}

Launch& Communicator::next_launch(std::size_t& used) {
  if (used == launches_.size()) launches_.emplace_back();
  return launches_[used++];
}

Launch& Communicator::next_empty_launch(std::size_t& used) {
  Launch& launch = next_launch(used);
  launch.clear();
  return launch;
}

// If the call is a small one like the latest: that one's exchange, on this call's buffers and with
// its number. Nothing else differs (checked mode puts another launch first); an exchange sends
// everything before it stores anything, so that an all-to-all may be in place.
ExchangeRun* Communicator::restarted(const Call& call) {
  if (!planned_.is_of(call) || launches_.empty()) return nullptr;
  Launch& launch = launches_.front();
  if (!launch.exchange || launch.recipe != planned_.number) return nullptr;
  count_collective(call);
  launch.exchange->restart(call.input, call.output, CallStamp::of(call.count, collectives_));
  return &*launch.exchange;
}

// The collectives in issue order, then all messages together. Returns how many launches.
Result<std::size_t> Communicator::compose(std::span<const Call> calls) {
  std::size_t used = 0;
  bool messages = false;
  std::size_t in_place = 0;
  for (const Call& call : calls) {
    if (is_message(call)) {
      messages = true;
      continue;
    }
    count_collective(call);
    if (settings_.check) compose_agreement(call, next_empty_launch(used));
    if (is_all_to_all(call)) {
      const bool aside = call.input == call.output && call.input != nullptr;
      GYRE_TRY_ASSIGN(const Call one, aside ? copied_aside(call, in_place++) : Result<Call>(call));
      if (one.kind == CallKind::all_to_all_v) {
        compose_all_to_all_v(one, next_empty_launch(used));
      } else if (!is_empty(one)) {
        GYRE_TRY(compose_collective(one, used));
      }
    } else if (!is_empty(call)) {
      GYRE_TRY(compose_collective(call, used));
    }
  }
  if (messages) GYRE_TRY(compose_messages(calls, next_empty_launch(used)));
  return used;
}

}  // namespace gyre
