#include "comm/communicator.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/contain.hpp"
#include "base/log.hpp"

namespace gyre {
namespace {

// What destroy gives running calls before it stops them, and a stopped call to leave: together
// within the 2 s that close() promises.
constexpr milliseconds kGrace{1000};
constexpr milliseconds kLeave{900};

// Of a counter with one writer at a time, whose readers are elsewhere.
void count_up(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Communicator::Communicator(int rank, int world, CommOptions options)
    : rank_(rank), world_(world), options_(std::move(options)) {}

Communicator::~Communicator() { close(/*abort=*/true); }

Result<void> Communicator::open_in_background(std::function<Result<void>()> opening) {
  const auto body = [this, run = std::move(opening)] {
    Result<void> opened = contained("opening a communicator", run);
    // The result is kept in the communicator's state; async_error() tells it.
    if (opened || state() != State::opening) return;
    abort_.raise(std::move(opened).error());
    state_.store(State::failed, std::memory_order_release);
  };
  const std::lock_guard lock(lifetime_);
  return contained(fmt::format("rank {}: starting the thread that opens it", rank_),
                   [&]() -> Result<void> {
                     opening_ = std::thread(body);
                     return {};
                   });
}

void Communicator::derive_in_background(std::function<Result<void>()> derivation) {
  const std::uint64_t turn = turns_.take();
  begin_background();
  const auto job = [this, turn, run = std::move(derivation),
                    doing =
                        fmt::format("rank {}: deriving a communicator", rank_)]() -> Result<void> {
    turns_.wait(turn);
    Result<void> result = contained(doing, run);
    if (!result) abort_.raise(result.error());
    turns_.end(turn);
    end_background();
    return result;
  };
  auto stream = worker();
  const bool queued = stream && contained("queueing", [&] { return (*stream)->enqueue(job); });
  if (!queued) (void)job();
}

Result<void> Communicator::usable() const {
  switch (state()) {
    case State::opening:
      return Error{
          Status::invalid_argument,
          "Attempt to use communicator before the previous operation returned ncclSuccess"};
    case State::failed:
      return abort_.reason();
    case State::finalized:
      return Error{Status::invalid_usage, "the communicator was finalized; only destroy it"};
    case State::closed:
      return Error{Status::invalid_argument, "the communicator was destroyed"};
    case State::ready:
      break;
  }
  if (abort_.raised()) return abort_.reason();
  if (background_.load(std::memory_order_acquire) != 0) {
    return Error{Status::invalid_argument,
                 "Attempt to use communicator before the previous operation returned ncclSuccess"};
  }
  return {};
}

std::optional<Error> Communicator::async_error() const {
  if (state() == State::opening) return Error{Status::in_progress, "the communicator is opening"};
  if (abort_.raised()) return abort_.reason();
  if (watch_ != nullptr && watch_->changed()) {
    if (const auto peer = watch_->gone_for(milliseconds(0))) {
      return watch_->loss_of(*peer, "no call");
    }
  }
  if (background_.load(std::memory_order_acquire) != 0) {
    return Error{Status::in_progress, "a call is still running"};
  }
  return std::nullopt;
}

Result<void> Communicator::finalize() {
  State expected = State::ready;
  if (!state_.compare_exchange_strong(expected, State::finalized)) {
    if (expected == State::failed) return abort_.reason();
    if (expected == State::opening) return usable();
    return Error{Status::invalid_argument, "the communicator was finalized already"};
  }
  if (!options_.blocking) return {};
  turns_.wait_idle(Deadline::never());
  return {};
}

void Communicator::close(bool abort) {
  const std::lock_guard lock(lifetime_);
  const State was = state_.load(std::memory_order_acquire);
  if (was == State::closed) return;
  const bool calm = !abort && !abort_.raised() && was != State::opening &&
                    turns_.wait_idle(Deadline::after(kGrace));
  if (!calm) {
    const Error reason{Status::aborted, fmt::format("rank {} aborted the communicator", rank_)};
    if (abort_.raise(reason) && control_ != nullptr && was != State::opening) {
      control_->announce(reason);
    }
  }
  if (opening_.joinable()) opening_.join();
  state_.store(State::closed, std::memory_order_release);
  if (worker_ != nullptr) {
    (void)HostStream::destroy(worker_);  // its calls' errors were told by async_error()
    worker_ = nullptr;
  }
  if (!running_.enter_until(Deadline::after(kLeave))) {
    // A call sits in the kernel and cannot be stopped: what it uses is left to it.
    log_warn("rank {}: a call did not leave within {} ms of the abort; its lanes are kept", rank_,
             kLeave.count());
    for (auto& transport : transports_) (void)transport.release();
    (void)executor_.release();
    (void)watch_.release();
    return;
  }
  if (control_ != nullptr && calm) control_->goodbye();
  for (auto& transport : transports_) transport->close(calm);
  control_.reset();  // first: the reactor asks the executor for progress until then
  executor_.reset();
  transports_.clear();
  running_.leave();  // for calls that were queued: they see the state and go
}

void Communicator::announced(int from, Error error) {
  // A peer's own fault is a remote error here; a deadline stays one for everybody.
  if (error.status != Status::timeout) error.status = Status::peer_lost;
  log_info(Subsystem::init, "rank {}: rank {} announced: {}", rank_, from, error.text);
  abort_.raise(std::move(error));
}

void Communicator::lost(int rank, std::string how) {
  if (watch_ != nullptr) watch_->gone(rank, std::move(how));
}

void Communicator::left(int rank) {
  if (watch_ != nullptr) watch_->left(rank);
}

ProgressCounts Communicator::progress() {
  if (state() == State::opening || executor_ == nullptr) return {};
  ProgressCounts counts;
  counts.entered = executor_->entered.load(std::memory_order_relaxed);
  counts.finished = executor_->finished.load(std::memory_order_relaxed);
  const std::uint64_t stamp = latest_stamp_.load(std::memory_order_acquire);
  counts.call = latest_tag_.load(std::memory_order_acquire);
  const bool steady = latest_stamp_.load(std::memory_order_relaxed) == stamp;
  counts.stamp = steady ? stamp : 0;
  return counts;
}

Result<void> Communicator::check(const Call& call) const {
  const bool symmetric = call.kind == CallKind::all_reduce || call.kind == CallKind::all_gather ||
                         call.kind == CallKind::reduce_scatter;
  if (symmetric && call.input != nullptr && call.output != nullptr) return {};
  const bool rooted = call.kind == CallKind::reduce || call.kind == CallKind::broadcast ||
                      call.kind == CallKind::gather || call.kind == CallKind::scatter;
  const bool message = call.kind == CallKind::send || call.kind == CallKind::receive;
  if ((rooted || message) && (call.root < 0 || call.root >= world_)) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: {} {} is not a rank of this communicator of {}",
                             name_of(call.kind), rooted ? "root" : "peer", call.root, world_)};
  }
  const bool at_root = !rooted || call.root == rank_;
  const bool reads = call.kind != CallKind::receive &&
                     (at_root || call.kind == CallKind::reduce || call.kind == CallKind::gather);
  const bool writes = call.kind != CallKind::send && (at_root || call.kind == CallKind::broadcast ||
                                                      call.kind == CallKind::scatter);
  const auto own = static_cast<std::size_t>(rank_);
  std::uint64_t sent = call.count;
  std::uint64_t received = call.count;
  if (call.kind == CallKind::all_gather_v) sent = call.blocks->receive_counts[own];
  if (call.kind == CallKind::reduce_scatter_v) received = call.blocks->send_counts[own];
  if (call.kind == CallKind::all_to_all_v || call.count == 0) return {};
  if (reads && sent > 0 && call.input == nullptr) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: the send buffer is NULL", name_of(call.kind))};
  }
  if (writes && received > 0 && call.output == nullptr) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: the receive buffer is NULL", name_of(call.kind))};
  }
  return {};
}

Result<Drive> Communicator::begin(std::span<const Call> calls) {
  running_.enter();
  const auto refuse = [this](Error error) {
    running_.leave();
    return error;
  };
  if (state() == State::closed) {
    return refuse({Status::aborted, "the communicator was destroyed before this call could run"});
  }
  if (abort_.raised()) return refuse(abort_.reason());
  auto used = contained("preparing the call", [&] { return compose(calls); });
  if (!used) return refuse(std::move(used).error());
  count_up(executor_->entered);
  Drive drive;
  drive.executor = executor_.get();
  drive.launches = std::span(launches_).first(*used);
  drive.doing = name_of(calls.front().kind);
  return drive;
}

// Between sweeps a thread may run out of memory; the lanes then stand where no peer expects them,
// so that it is a fault of the calls like any other.
void Communicator::drive(std::span<Drive> drives) {
  const auto driven = contained("running the call", [&]() -> Result<void> {
    gyre::drive(drives);
    return {};
  });
  if (driven) return;
  for (Drive& one : drives) {
    const bool unfinished = one.result && one.at < one.launches.size();
    if (unfinished) one.result = one.executor->fault(driven.error());
  }
}

void Communicator::end(const Drive& drive) {
  if (!drive.result) drive.executor->revoke_references();
  count_up(drive.executor->finished);
  running_.leave();
}

Result<void> Communicator::run(std::span<const Call> calls) {
  GYRE_TRY_ASSIGN(Drive one, begin(calls));
  drive(std::span(&one, 1));
  end(one);
  return std::move(one.result);
}

Result<HostStream*> Communicator::worker() {
  const std::lock_guard lock(lifetime_);
  if (state() == State::closed) return Error{Status::aborted, "the communicator was destroyed"};
  if (worker_ == nullptr) {
    GYRE_TRY_ASSIGN(worker_, HostStream::create());
  }
  return worker_;
}

Result<std::vector<std::vector<std::byte>>> Communicator::all_gather(
    std::span<const std::byte> mine, std::string_view what) {
  return control_->all_gather(mine, what, Deadline::after(milliseconds(settings_.init_timeout_ms)),
                              &abort_);
}

}  // namespace gyre
