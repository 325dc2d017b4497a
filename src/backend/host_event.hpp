// A host event: a point of a host stream that other streams and threads can wait for.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

#include "backend/host_stream.hpp"
#include "base/clock.hpp"
#include "base/status.hpp"

namespace gyre {

class HostEvent {
 public:
  HostEvent();
  // The event behind an opaque handle, or null if it is none of ours.
  static HostEvent* from(void* event);
  HostEvent(const HostEvent&) = delete;
  HostEvent& operator=(const HostEvent&) = delete;
  ~HostEvent() { magic_ = 0; }

  // Marks the present end of `stream`; with a null stream, now. Later waits mean this record.
  Result<void> record(HostStream* stream);
  // Makes later work of `stream` wait for the latest record; with a null stream, the caller.
  Result<void> hold_back(HostStream* stream) const;
  // Waits for the latest record. Returns the error that its stream had at that point.
  Result<void> synchronize() const;
  // busy while the latest record is not reached; never waits.
  Result<void> query() const;
  // When the latest record was reached; busy before, invalid_usage if there was none.
  Result<Clock::time_point> reached_at() const;

 private:
  // Shared with the queued work, which may outlive the event. Its mutex guards all of it.
  struct State {
    std::mutex mutex;
    std::condition_variable reached;
    std::uint64_t recorded = 0;   // records asked for
    std::uint64_t completed = 0;  // the latest record reached
    Clock::time_point at;
    std::optional<Error> error;

    void complete(std::uint64_t record, std::optional<Error> stream_error);
    Result<void> wait(std::uint64_t record);
  };
  std::uint64_t latest() const;

  std::uint64_t magic_;  // first: from() reads it through a pointer of unknown type
  std::shared_ptr<State> state_;
};

}  // namespace gyre
