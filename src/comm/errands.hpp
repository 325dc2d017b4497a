// Errands: the calls of a rank on a device whose kernels do not reach the peers (they are ranks on
// the host, on devices of another vendor, or on another machine). A thread runs each as a rank on
// the host would, on copies of the buffers in host memory, when a kernel in the caller's stream
// says that its turn has come (kernels/device/errand.cuh); the kernel leaves when it is done. So
// the order of a stream holds as for any call, captured graphs may be replayed, and nobody who
// enqueues waits.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/status.hpp"
#include "gyre/plugin.h"
#include "kernels/device/work.hpp"
#include "schedule/call.hpp"
#include "transport/device/memory.hpp"

namespace gyre {

// add(), drop() and room() by one thread at a time.
class Errands {
 public:
  // `run` does the calls of an errand, one errand after the other, on a thread of this object. What
  // goes wrong there is its own to tell.
  static Result<std::unique_ptr<Errands>> create(const gyreBackend& backend, int ordinal,
                                                 std::function<void(std::span<const Call>)> run);
  // No kernel waits for an errand any more, and none is run for longer than an abort takes.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // At least so many bytes for the copies of one errand's buffers. Calls of a communicator follow
  // each other, so they all have the same; what a graph may use again is kept.
  Result<std::byte*> room(std::size_t bytes, bool captured);
  // What the next kernel posts, once; of a graph any number of times.
  device::Errand add(std::vector<Call> calls, bool captured);
  // That kernel could not be enqueued.
  void drop(const device::Errand& errand);

 private:
  struct Entry {
    std::vector<Call> calls;
    bool captured = false;
  };

  Errands(const gyreBackend& backend, int ordinal, std::function<void(std::span<const Call>)> run)
      : backend_(backend), ordinal_(ordinal), run_(std::move(run)) {}
  void work(const std::stop_token& stop);
  bool do_next();
  std::vector<Call> take(std::uint64_t id);

  const gyreBackend& backend_;
  const int ordinal_;
  const std::function<void(std::span<const Call>)> run_;
  ReachedMemory desk_;
  ReachedMemory room_;
  bool room_is_captured_ = false;
  std::vector<ReachedMemory> kept_;

  std::mutex mutex_;  // guards what follows
  std::condition_variable_any added_;
  std::map<std::uint64_t, Entry> entries_;
  std::uint64_t made_ = 0;

  std::jthread thread_;  // last: it ends before what it works on
};

}  // namespace gyre
