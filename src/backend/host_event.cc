#include "backend/host_event.hpp"

#include <utility>

#include "base/contain.hpp"
#include "base/process.hpp"

namespace gyre {
namespace {

constexpr std::uint64_t kMagic = 0x746e657665737967;

}  // namespace

HostEvent::HostEvent() : magic_(kMagic), state_(std::make_shared<State>()) {}

HostEvent* HostEvent::from(void* event) {
  auto* candidate = static_cast<HostEvent*>(event);
  return candidate != nullptr && candidate->magic_ == kMagic ? candidate : nullptr;
}

void HostEvent::State::complete(std::uint64_t record, std::optional<Error> stream_error) {
  const std::lock_guard lock(mutex);
  // Records of several streams may be reached in any order; the latest one asked for counts.
  if (record <= completed) return;
  completed = record;
  at = Clock::now();
  error = std::move(stream_error);
  reached.notify_all();
}

Result<void> HostEvent::State::wait(std::uint64_t record) {
  std::unique_lock lock(mutex);
  reached.wait(lock, [&] { return completed >= record; });
  if (error) return *error;
  return {};
}

std::uint64_t HostEvent::latest() const {
  const std::lock_guard lock(state_->mutex);
  return state_->recorded;
}

Result<void> HostEvent::record(HostStream* stream) {
  GYRE_TRY(refuse_in_child());
  std::uint64_t record = 0;
  {
    const std::lock_guard lock(state_->mutex);
    record = ++state_->recorded;
  }
  if (stream == nullptr) {
    state_->complete(record, std::nullopt);
    return {};
  }
  auto queued = contained("recording an event", [&] {
    return stream->enqueue(
        [state = state_, record, stream] { state->complete(record, stream->error()); });
  });
  // Nobody may wait for a record that will never be reached.
  if (!queued) state_->complete(record, queued.error());
  return queued;
}

Result<void> HostEvent::hold_back(HostStream* stream) const {
  if (stream == nullptr) return synchronize();
  GYRE_TRY(refuse_in_child());
  const std::uint64_t record = latest();
  if (record == 0) return {};
  return stream->enqueue([state = state_, record] { return state->wait(record); });
}

Result<void> HostEvent::synchronize() const {
  GYRE_TRY(refuse_in_child());
  return state_->wait(latest());
}

Result<void> HostEvent::query() const {
  GYRE_TRY(refuse_in_child());
  const std::lock_guard lock(state_->mutex);
  if (state_->completed < state_->recorded) return Error{Status::busy, "the event is not reached"};
  if (state_->error) return *state_->error;
  return {};
}

Result<Clock::time_point> HostEvent::reached_at() const {
  GYRE_TRY(query());
  const std::lock_guard lock(state_->mutex);
  if (state_->recorded == 0) {
    return Error{Status::invalid_usage, "elapsed time of an event that was never recorded"};
  }
  return state_->at;
}

}  // namespace gyre
