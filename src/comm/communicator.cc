#include "comm/communicator.hpp"

#include <fmt/format.h>

#include <utility>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "comm/call_shapes.hpp"

namespace gyre {
namespace {

// Of a counter with one writer at a time, whose readers are elsewhere.
void count_up(std::atomic<std::uint64_t>& counter) {
  counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
}

}  // namespace

Result<void> Communicator::why_unusable() const {
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
  // Known by async_error() already, perhaps, although the host has yet to look.
  if (device_ != nullptr) {
    if (const auto fault = device_fault()) return *fault;
  }
  if (background_.load(std::memory_order_acquire) != 0) {
    return Error{Status::invalid_argument,
                 "Attempt to use communicator before the previous operation returned ncclSuccess"};
  }
  return {};
}

std::optional<Error> Communicator::async_error() const {
  if (state() == State::opening) return Error{Status::in_progress, "the communicator is opening"};
  if (abort_.raised()) return abort_.reason();
  if (device_ != nullptr) {
    if (auto fault = device_fault()) return fault;
  }
  if (watch_ != nullptr && watch_->changed()) {
    if (const auto peer = watch_->gone_for(milliseconds(0))) {
      return watch_->loss_of(*peer, "no call");
    }
  }
  const bool flushing = state() == State::finalized && !options_.blocking && !is_idle();
  if (flushing || background_.load(std::memory_order_acquire) != 0) {
    return Error{Status::in_progress, "a call is still running"};
  }
  return std::nullopt;
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
  counts.awaited = executor_->awaited();
  return counts;
}

// Byte counts are 64-bit: what a buffer of all ranks' blocks holds must fit.
Result<void> Communicator::check_size(const Call& call) const {
  const std::uint64_t most =
      PTRDIFF_MAX / (size_of(call.type) * static_cast<std::uint64_t>(world_));
  const auto check = [&](std::uint64_t elements) -> Result<void> {
    if (elements <= most) return {};
    return Error{Status::invalid_argument,
                 fmt::format("{}: {} elements of {}: at most {} with {} ranks", name_of(call.kind),
                             elements, name_of(call.type), most, world_)};
  };
  GYRE_TRY(check(call.count));
  if (call.blocks == nullptr) return {};
  const BlockTable& table = *call.blocks;
  for (const auto* column :
       {&table.send_counts, &table.send_offsets, &table.receive_counts, &table.receive_offsets}) {
    for (const std::uint64_t elements : *column) GYRE_TRY(check(elements));
  }
  return {};
}

Result<void> Communicator::check_closely(const Call& call) const {
  GYRE_TRY(check_size(call));
  const bool rooted = has_root(call.kind);
  const bool message = call.kind == CallKind::send || call.kind == CallKind::receive;
  if ((rooted || message) && (call.root < 0 || call.root >= world_)) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: {} {} is not a rank of this communicator of {}",
                             name_of(call.kind), rooted ? "root" : "peer", call.root, world_)};
  }
  const Roles roles = roles_of(call, rank_);
  const auto own = static_cast<std::size_t>(rank_);
  std::uint64_t sent = call.count;
  std::uint64_t received = call.count;
  if (call.kind == CallKind::all_gather_v) sent = call.blocks->receive_counts[own];
  if (call.kind == CallKind::reduce_scatter_v) received = call.blocks->send_counts[own];
  if (call.kind == CallKind::all_to_all_v || call.count == 0) return {};
  if (roles.reads && sent > 0 && call.input == nullptr) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: the send buffer is NULL", name_of(call.kind))};
  }
  if (roles.writes && received > 0 && call.output == nullptr) {
    return Error{Status::invalid_argument,
                 fmt::format("{}: the receive buffer is NULL", name_of(call.kind))};
  }
  return {};
}

// Inside running_ if there is no error.
Result<void> Communicator::enter() {
  running_.enter();
  const bool closed = state() == State::closed;
  if (!closed && !abort_.raised()) return {};
  running_.leave();
  if (!closed) return abort_.reason();
  return Error{Status::aborted, "the communicator was destroyed before this call could run"};
}

Result<Drive> Communicator::begin(std::span<const Call> calls, bool counts) {
  GYRE_TRY(enter());
  return prepare(calls, counts);
}

// Inside running_, and still so if there is no error.
Result<Drive> Communicator::prepare(std::span<const Call> calls, bool counts) {
  auto used = contained("preparing the call", [&] { return compose(calls); });
  if (!used) {
    running_.leave();
    return std::move(used).error();
  }
  if (counts) count_up(executor_->entered);
  return drive_of(*used, calls.front().kind, counts);
}

Drive Communicator::drive_of(std::size_t launches, CallKind kind, bool counts) {
  Drive drive;
  drive.executor = executor_.get();
  drive.launches = std::span(launches_).first(launches);
  drive.doing = name_of(kind);
  drive.counts = counts;
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
  if (!drive.result) {
    (void)contained("taking references back", [&]() -> Result<void> {
      drive.executor->revoke_references();
      return {};
    });
  } else {
    for (Launch& launch : drive.launches) launch.tell_way();
  }
  if (drive.counts) count_up(drive.executor->finished);
  leave();
}

void Communicator::leave() {
  between_calls();
  running_.leave();
}

// Inside running_, of one that was open. Peers that cannot be told now keep what they mapped.
void Communicator::between_calls() {
  (void)contained("", [this]() -> Result<void> {
    for (const auto& transport : transports_) transport->between_calls();
    return {};
  });
}

Result<void> Communicator::deregister_memory(const void* handle) {
  GYRE_TRY(registrations_.remove(handle));
  // A call that runs does it at its end.
  if (state() != State::ready || !running_.try_enter()) return {};
  between_calls();
  running_.leave();
  return {};
}

// Hot path: most of what a small call costs is here, in run_again() and in ends_at_once().
Result<void> Communicator::run(const Call& call) {
  GYRE_TRY(enter());
  if (ExchangeRun* const exchange = restarted(call)) return run_again(*exchange, call.kind);
  GYRE_TRY_ASSIGN(Drive one, prepare(std::span(&call, 1), /*counts=*/true));
  return run_driven(one);
}

Result<void> Communicator::run_again(ExchangeRun& exchange, CallKind kind) {
  count_up(executor_->entered);
  // What goes wrong here, want of memory included, is found again by the sweeps of run_driven().
  const Result<bool> ended = contained(
      "running the call", [&]() -> Result<bool> { return executor_->ends_at_once(exchange); });
  if (!ended || !*ended) {
    Drive one = drive_of(1, kind, /*counts=*/true);
    return run_driven(one);
  }
  count_up(executor_->finished);
  leave();
  return {};
}

Result<void> Communicator::run_driven(Drive& one) {
  drive(std::span(&one, 1));
  end(one);
  return std::move(one.result);
}

Result<std::vector<std::vector<std::byte>>> Communicator::all_gather(
    std::span<const std::byte> mine, std::string_view what) {
  return control_->all_gather(mine, what, Deadline::after(milliseconds(settings_.init_timeout_ms)),
                              &abort_);
}

}  // namespace gyre
