// How a communicator begins in the background, derives others, and ends.
#include <fmt/format.h>

#include <utility>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "comm/communicator.hpp"

namespace gyre {
namespace {

// What destroy gives running calls before it stops them, and a stopped call to leave: together
// within the 2 s that close() promises.
constexpr milliseconds kGrace{1000};
constexpr milliseconds kLeave{900};
constexpr milliseconds kAbortInterval{20};
// What destroy gives the kernels of issued calls: they may stand behind the user's own on a stream.
constexpr milliseconds kDeviceGrace{10'000};

}  // namespace

Communicator::Communicator(int rank, int world, CommOptions options)
    : rank_(rank), world_(world), options_(std::move(options)) {}

// Nobody is inside any more: who was, held a reference.
Communicator::~Communicator() {
  close(/*abort=*/true);
  tear_down(/*calm=*/false);
}

Result<void> Communicator::open_in_background(std::function<Result<void>()> opening) {
  const auto body = [this, run = std::move(opening)] {
    Result<void> opened = contained("opening a communicator", run);
    // The result is kept in the communicator's state; async_error() tells it.
    if (!opened) log_warn("rank {} of {}: init failed: {}", rank_, world_, opened.error().text);
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
  auto doing = fmt::format("rank {}: deriving a communicator", rank_);
  // Nothing from here on throws before the turn is sure to end: what may (the copy for the queue)
  // is contained, and the work is then done here.
  const std::uint64_t turn = turns_.take();
  begin_background();
  const auto job = [this, turn, run = std::move(derivation),
                    what = std::move(doing)]() -> Result<void> {
    turns_.wait(turn);
    Result<void> result = contained(what, run);
    if (!result) abort_.raise(result.error());
    turns_.end(turn);
    end_background();
    return result;
  };
  const auto queued = contained("queueing", [&]() -> Result<void> {
    GYRE_TRY_ASSIGN(HostStream* const stream, worker());
    return stream->enqueue(job);
  });
  if (!queued) (void)job();
}

Result<void> Communicator::finalize() {
  State expected = State::ready;
  if (!state_.compare_exchange_strong(expected, State::finalized)) {
    if (expected == State::failed) return abort_.reason();
    if (expected == State::opening) return usable();
    return Error{Status::invalid_argument, "the communicator was finalized already"};
  }
  if (!options_.blocking) {
    if (is_idle()) return {};
    return Error{Status::in_progress, "calls are still running"};
  }
  turns_.wait_idle(Deadline::never());
  while (!abort_.raised() && device_ != nullptr &&
         !device_->wait_idle(Deadline::after(kAbortInterval))) {
  }
  return {};
}

bool Communicator::is_idle() const {
  return turns_.idle() &&
         (device_ == nullptr || device_->wait_idle(Deadline::after(milliseconds(0))));
}

// Ends every wait of this rank, and of those that are derived from it at this moment.
void Communicator::stop(const Error& reason) {
  // Before it is open, the opening tells the others.
  const bool was_open = state() != State::opening;
  if (abort_.raise(reason) && was_open && control_ != nullptr) control_->announce(reason);
  const std::lock_guard lock(deriving_mutex_);
  for (const auto& weak : deriving_) {
    if (const auto child = weak.lock()) child->abort_.raise(reason);
  }
}

// That a peer is gone, if so: the others are to hear of it, rather than of what it led to.
Error Communicator::reason_to_stop() const {
  // Until it is open, another thread makes what it is told by.
  if (state() != State::opening && watch_ != nullptr && watch_->changed()) {
    if (const auto peer = watch_->gone_for(milliseconds(0))) {
      return watch_->loss_of(*peer, "no call");
    }
  }
  return {Status::aborted, fmt::format("rank {} aborted the communicator", rank_)};
}

void Communicator::close(bool abort) {
  const std::lock_guard lock(lifetime_);
  const State was = state();
  if (was == State::closed) return;
  // What a kernel found is the reason that the peers are told, not that this rank then ends.
  if (was != State::opening && device_ != nullptr) look_at_device();
  const bool calm = !abort && !abort_.raised() && was != State::opening &&
                    turns_.wait_idle(Deadline::after(kGrace)) &&
                    (device_ == nullptr || device_->wait_idle(Deadline::after(kDeviceGrace)));
  if (!calm) stop(reason_to_stop());
  if (opening_.joinable()) opening_.join();
  const Deadline leave = Deadline::after(kLeave);
  const bool wired = wiring_.enter_until(leave);
  state_.store(State::closed, std::memory_order_release);
  if (wired) wiring_.leave();  // who comes later finds it closed
  if (worker_ != nullptr) {
    (void)HostStream::destroy(worker_);  // its calls' errors were told by async_error()
    worker_ = nullptr;
  }
  const bool issued = issuing_.enter_until(leave);
  if (issued) issuing_.leave();  // who comes later finds it closed
  const bool ran_errands = errands_ == nullptr || errands_->stop(leave);
  if (!wired || !issued || !ran_errands || !running_.enter_until(leave)) {
    // A call sits in the kernel and cannot be stopped: what it uses is left to it, until it drops
    // its reference.
    log_warn("rank {}: a call did not leave within {} ms of the abort; its lanes are kept", rank_,
             kLeave.count());
    return;
  }
  tear_down(calm);
  running_.leave();  // for calls that were queued: they see the state and go
}

void Communicator::tear_down(bool calm) {
  close_device();
  if (control_ != nullptr && calm) control_->goodbye();
  for (auto& transport : transports_) transport->close(calm);
  control_.reset();  // first: the reactor asks the executor for progress until then
  executor_.reset();
  transports_.clear();
  registrations_.clear();
}

Result<void> Communicator::while_open(const std::function<Result<void>()>& body) {
  const Inside inside(wiring_);
  if (abort_.raised()) return abort_.reason();
  if (state() != State::ready) return usable();
  return body();
}

Result<void> Communicator::derive(const std::shared_ptr<Communicator>& child,
                                  const std::vector<int>& members, const JobKey& key) {
  {
    const std::lock_guard lock(deriving_mutex_);
    deriving_.push_back(child);
  }
  // stop() finds the child, or is seen here.
  Result<void> opened =
      abort_.raised() ? Result<void>(abort_.reason()) : child->open_among(*this, members, key);
  const std::lock_guard lock(deriving_mutex_);
  std::erase_if(deriving_, [&](const auto& one) { return one.lock() == child; });
  return opened;
}

Result<HostStream*> Communicator::worker() {
  const std::lock_guard lock(lifetime_);
  if (state() == State::closed) return Error{Status::aborted, "the communicator was destroyed"};
  if (worker_ == nullptr) {
    GYRE_TRY_ASSIGN(worker_, HostStream::create());
  }
  return worker_;
}

}  // namespace gyre
