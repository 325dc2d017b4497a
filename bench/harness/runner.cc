#include "bench/harness/runner.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#include "bench/harness/failure.hpp"
#include "bench/harness/inputs.hpp"

namespace gyre::bench {
namespace {

constexpr std::uint64_t kTimingSeed = 99;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

// Custom operation of one call; another value passes through.
class ScopedOp {
 public:
  ScopedOp(const Library& library, int op, ncclDataType_t type, const Rank& rank)
      : library_(library), comm_(rank.comm), op_(static_cast<ncclRedOp_t>(op)) {
    if (op != kMulSum) return;
    if (library.create_premulsum == nullptr || library.destroy_op == nullptr) {
      throw Failure(ExitCode::unsupported, library.path + " has no ncclRedOpCreatePreMulSum");
    }
    std::uint64_t factor = 0;
    write_mulsum_factor(&factor, type, rank.number);
    library.check(library.create_premulsum(&op_, &factor, type, ncclScalarHostImmediate, comm_),
                  "ncclRedOpCreatePreMulSum");
    made_ = true;
  }
  ~ScopedOp() {
    if (made_) static_cast<void>(library_.destroy_op(op_, comm_));
  }
  ScopedOp(const ScopedOp&) = delete;
  ScopedOp& operator=(const ScopedOp&) = delete;
  ncclRedOp_t get() const { return op_; }

 private:
  const Library& library_;
  ncclComm_t comm_;
  ncclRedOp_t op_;
  bool made_ = false;
};

}  // namespace

Runner::Runner(const RunContext& context, int thread, std::span<Rank> ranks, Watchdog& watchdog,
               Output* output)
    : context_(context),
      options_(context.options),
      thread_(thread),
      ranks_(ranks),
      watchdog_(watchdog),
      output_(output) {}

Totals Runner::run() {
  const Collective& collective = context_.collective;
  const int version = context_.nccl.version;
  std::vector<OpInfo> ops{{ncclSum, collective.op_label(), 0}};
  if (collective.names_ops()) ops = chosen_ops(options_.op, version);
  if (!collective.reduces()) {
    for (OpInfo& op : ops) op.value = ncclSum;
  }
  int first_root = -1;
  int last_root = -1;
  if (collective.rooted()) {
    first_root = options_.root == kAll ? 0 : options_.root;
    last_root = options_.root == kAll ? context_.layout.ranks() - 1 : options_.root;
  }
  for (const TypeInfo& type : chosen_types(options_.type, version)) {
    for (const OpInfo& op : ops) {
      for (int root = first_root; root <= last_root; ++root) run_case(type, op, root);
    }
  }
  watchdog_.disarm();
  return totals_;
}

void Runner::run_case(const TypeInfo& type, const OpInfo& op, int root) {
  context_.team.barrier();
  warm_up(type, op, root);
  const Sweep sweep = options_.sweep();
  for (int cycle = 0; options_.run_cycles == 0 || cycle < options_.run_cycles; ++cycle) {
    std::optional<std::size_t> bytes = sweep.first;
    for (; bytes; bytes = sweep.next(*bytes)) run_row(make_row(type, op, root, *bytes));
  }
}

Runner::Row Runner::make_row(const TypeInfo& type, const OpInfo& op, int root,
                             std::size_t bytes) const {
  const Counts counts =
      context_.collective.counts(bytes / type.size, type.size, context_.layout.ranks());
  return {type, op, root, bytes, counts};
}

void Runner::warm_up(const TypeInfo& type, const OpInfo& op, int root) {
  const std::size_t last = options_.max_bytes;
  std::optional<std::size_t> bytes = options_.min_bytes;
  while (bytes) {
    const Row row = make_row(type, op, root, *bytes);
    for (int i = 0; i < options_.warmup_iters; ++i) issue(row, false, i);
    complete();
    bytes = *bytes == 0 ? (last > 0 ? std::optional<std::size_t>(1) : std::nullopt)
                        : Sweep{0, last, 0, 2}.next(*bytes);
  }
}

void Runner::run_row(const Row& row) {
  if (output_ != nullptr) {
    output_->begin_row({std::max(row.counts.send, row.counts.receive) * row.type.size,
                        row.counts.argument, row.type.name, row.op.name, row.root});
  }
  measure(row, false);
  measure(row, true);
  if (output_ != nullptr) output_->end_row(remarks_, iterations_);
  remarks_.clear();
}

void Runner::measure(const Row& row, bool in_place) {
  const int ranks = context_.layout.ranks();
  iterations_ = options_.iters;
  if (options_.per_iter_timing) make_events();
  if (options_.check > 0) prepare(row, in_place, kTimingSeed, false);
  issue(row, in_place, 0);
  complete();
  if (options_.seconds > 0) choose_iterations(row, in_place);
  align();
  const Timing timing = time_iterations(row, in_place);
  const double seconds = context_.team.reduce(thread_, timing.seconds, options_.average);
  const std::size_t bytes = row.counts.argument * row.type.size;
  const Bandwidth bandwidth = context_.collective.bandwidth(bytes, row.type.size, seconds, ranks);
  context_.team.barrier();

  Measurement measurement;
  measurement.seconds = options_.report_cputime ? timing.cpu_seconds : seconds;
  measurement.algorithm_gbps = bandwidth.algorithm / 1e9;
  measurement.bus_gbps = bandwidth.bus / 1e9;
  const bool checked = options_.check > 0 && (!in_place || context_.collective.checks_in_place());
  if (checked) measurement.wrong = check(row, in_place);
  totals_.bus_gbps += measurement.bus_gbps;
  ++totals_.measurements;

  std::vector<std::vector<double>> processes;
  if (options_.per_iter_timing) {
    processes = context_.team.process_maxima(thread_, iteration_times());
  }
  if (output_ == nullptr) return;
  output_->measured(in_place, measurement);
  if (!processes.empty()) output_->iterated(in_place, processes);
  remarks_ += context_.collective.summary(bytes, row.type.size, seconds, ranks);
}

// A barrier over sockets and condition variables lets go of the ranks tens of microseconds apart,
// which twenty operations of a few microseconds each would show. A tiny operation of the library
// brings them together again.
void Runner::align() {
  context_.team.barrier();
  if (static_cast<int>(ranks_.size()) == context_.layout.ranks()) return;
  watchdog_.arm();
  const Library& library = context_.nccl;
  GroupScope group(library, ranks_.size() > 1);
  for (const Rank& rank : ranks_) {
    void* pulse = rank.buffers.pulse;
    library.check(
        library.all_reduce(pulse, pulse, 1, ncclInt32, ncclMax, rank.comm, rank.device->stream()),
        "ncclAllReduce");
  }
  group.end();
  wait();
}

// From a trial of -n iterations; the same number on every rank.
void Runner::choose_iterations(const Row& row, bool in_place) {
  constexpr double kMost = 1e6;
  align();
  const Timing trial = time_iterations(row, in_place);
  const double slowest = context_.team.reduce(thread_, trial.seconds, Average::max);
  const double wanted = options_.seconds / std::max(slowest * options_.agg_iters, 1e-9);
  iterations_ = std::max(options_.iters, static_cast<int>(std::min(wanted, kMost)));
}

Runner::Timing Runner::time_iterations(const Row& row, bool in_place) {
  const bool outer = options_.blocking == Blocking::outer;
  const double operations = static_cast<double>(iterations_) * options_.agg_iters;
  double without_barriers = 0;
  const Stopwatch watch;
  for (int iteration = 0; iteration < iterations_; ++iteration) {
    const double begin = watch.seconds();
    const auto index = static_cast<std::size_t>(iteration);
    // In mode 3 each iteration has a pair of events, as barriers lie between them.
    if (options_.per_iter_timing) record(outer ? 2 * index : index);
    issue_iteration(row, in_place, iteration);
    if (!outer) continue;
    wait();
    if (options_.per_iter_timing) record(2 * index + 1);
    without_barriers += watch.seconds() - begin;
    context_.team.barrier();
  }
  if (options_.per_iter_timing && !outer) record(static_cast<std::size_t>(iterations_));
  Timing timing;
  timing.cpu_seconds = (outer ? without_barriers : watch.seconds()) / operations;
  complete();
  timing.seconds = (outer ? without_barriers : watch.seconds()) / operations;
  // The events may lie behind the last operation that was waited for.
  if (options_.per_iter_timing) wait();
  return timing;
}

void Runner::issue_iteration(const Row& row, bool in_place, int iteration) {
  // Stages depend on each other, so they cannot be parts of one group.
  const bool grouped =
      options_.agg_iters > 1 && context_.collective.stages(context_.layout.ranks()) == 1;
  GroupScope group(context_.nccl, grouped);
  for (int i = 0; i < options_.agg_iters; ++i) {
    issue(row, in_place, iteration * options_.agg_iters + i);
  }
  group.end();
}

void Runner::issue(const Row& row, bool in_place, int iteration) {
  watchdog_.arm();
  // Each iteration uses another part of the buffers, lest caches flatter small sizes.
  const std::size_t bytes = std::max(row.counts.send, row.counts.receive) * row.type.size;
  const std::size_t places = bytes == 0 ? 1 : std::max<std::size_t>(1, options_.max_bytes / bytes);
  const std::size_t shift = bytes * (static_cast<std::size_t>(iteration) % places);
  const int stages = context_.collective.stages(context_.layout.ranks());
  for (int stage = 0; stage < stages; ++stage) {
    GroupScope group(context_.nccl, ranks_.size() > 1);
    for (Rank& rank : ranks_) launch_on(rank, row, in_place, shift, stage);
    group.end();
  }
  if (options_.blocking == Blocking::wait_and_barrier || options_.blocking == Blocking::wait) {
    wait();
  }
  if (options_.blocking == Blocking::wait_and_barrier) context_.team.barrier();
}

void Runner::launch_on(Rank& rank, const Row& row, bool in_place, std::size_t shift, int stage) {
  const auto number = static_cast<std::size_t>(rank.number);
  const std::size_t offset = shift + options_.unalign * row.type.size;
  std::byte* receive = static_cast<std::byte*>(rank.buffers.receive_base) + offset;
  const std::byte* send = static_cast<const std::byte*>(rank.buffers.send_base) + offset;
  if (in_place) {
    send = receive + row.counts.send_in_place * number * row.type.size;
    receive += row.counts.receive_in_place * number * row.type.size;
  }
  const ScopedOp op(context_.nccl, row.op.value, row.type.value, rank);
  const Call call{context_.nccl,
                  *rank.device,
                  send,
                  receive,
                  row.counts.argument,
                  row.type.value,
                  row.type.size,
                  op.get(),
                  row.root,
                  rank.number,
                  context_.layout.ranks(),
                  rank.comm,
                  rank.device->stream()};
  context_.collective.launch(call, stage);
}

void Runner::complete() {
  // What issue() waited for after each operation needs no second look. -z 3 waits nowhere there:
  // only a timed iteration does, and warm-ups must be over before one begins.
  const bool each =
      options_.blocking == Blocking::wait || options_.blocking == Blocking::wait_and_barrier;
  if (!each || options_.agg_iters > 1) wait();
}

void Runner::wait() {
  watchdog_.arm();
  try {
    if (ranks_.front().device->is_host()) {
      for (const Rank& rank : ranks_) rank.device->synchronize();
    } else {
      poll();
    }
  } catch (const Failure& failure) {
    if (failure.code() != ExitCode::device) throw;
    // The stream only knows that its work failed; the library knows why.
    const auto last_error = context_.nccl.last_error;
    const std::string why = last_error == nullptr ? "" : last_error(nullptr);
    throw Failure(ExitCode::library, why.empty() ? failure.what() : failure.what() + (": " + why));
  }
  watchdog_.disarm();
}

// A GPU's stream does not end when a peer dies, so the communicator is asked as well.
void Runner::poll() {
  for (;;) {
    bool idle = true;
    for (const Rank& rank : ranks_) {
      idle = rank.device->idle() && idle;
      ncclResult_t state = ncclSuccess;
      context_.nccl.check(context_.nccl.async_error(rank.comm, &state), "ncclCommGetAsyncError");
      context_.nccl.check(state, "an operation in flight");
    }
    if (idle) return;
    std::this_thread::yield();
  }
}

void Runner::make_events() {
  const auto iterations = static_cast<std::size_t>(iterations_);
  const std::size_t needed = options_.blocking == Blocking::outer ? 2 * iterations : iterations + 1;
  events_.resize(ranks_.size());
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].device->select();
    while (events_[i].size() < needed) events_[i].push_back(ranks_[i].device->make_event());
  }
}

void Runner::record(std::size_t index) {
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    ranks_[i].device->select();
    ranks_[i].device->record(events_[i][index]);
  }
}

std::vector<double> Runner::iteration_times() const {
  const bool outer = options_.blocking == Blocking::outer;
  std::vector<double> times(static_cast<std::size_t>(iterations_));
  for (std::size_t i = 0; i < ranks_.size(); ++i) {
    for (std::size_t iteration = 0; iteration < times.size(); ++iteration) {
      const std::size_t begin = outer ? 2 * iteration : iteration;
      const double ms = ranks_[i].device->elapsed_ms(events_[i][begin], events_[i][begin + 1]);
      times[iteration] = std::max(times[iteration], ms * 1e-3 / options_.agg_iters);
    }
  }
  return times;
}

std::int64_t Runner::check(const Row& row, bool in_place) {
  std::int64_t wrong = 0;
  ++checks_;
  for (int i = 0; i < options_.check && wrong == 0; ++i) {
    prepare(row, in_place, (checks_ << 16) + static_cast<std::uint64_t>(i), true);
    issue(row, in_place, 0);
    wait();
    std::int64_t mine = 0;
    for (Rank& rank : ranks_) {
      mine += check_data(data_case(row, rank, 0), placement(row, in_place), rank);
    }
    if (mine > 0) ++totals_.wrong_runs;
    wrong = context_.team.sum(thread_, mine);
  }
  return wrong;
}

void Runner::prepare(const Row& row, bool in_place, std::uint64_t seed, bool with_expected) {
  for (Rank& rank : ranks_) {
    prepare_data(context_.collective, data_case(row, rank, seed), placement(row, in_place), rank,
                 with_expected);
  }
}

DataCase Runner::data_case(const Row& row, const Rank& rank, std::uint64_t seed) const {
  const bool denormals = seed != kTimingSeed;
  return {row.type.value,          row.type.size, row.op.value, row.root, rank.number,
          context_.layout.ranks(), row.counts,    seed,         denormals};
}

Placement Runner::placement(const Row& row, bool in_place) const {
  return {in_place, options_.unalign * row.type.size};
}

}  // namespace gyre::bench
