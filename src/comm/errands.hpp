// Errands: the calls of a rank on a device whose kernels do not reach the peers (they are ranks on
// the host, on devices of another vendor, or on another machine). A thread runs each as a rank on
// the host would, on copies of the buffers in host memory, when a kernel in the caller's stream
// says that its turn has come (kernels/device/errand.cuh); the kernel leaves when it is done. So
// the order of a stream holds as for any call, captured graphs may be replayed, and nobody who
// enqueues waits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/clock.hpp"
#include "base/status.hpp"
#include "gyre/plugin.h"
#include "kernels/device/work.hpp"
#include "schedule/call.hpp"
#include "transport/device/memory.hpp"

namespace gyre {

struct HostCopy {
  std::byte* to = nullptr;
  const std::byte* from = nullptr;
  std::size_t bytes = 0;
};

// A collective, or all messages of a group.
struct Errand {
  std::vector<Call> calls;  // on what lies in the room
  // Kept as long as the errand may run; after that, until the stream is done with the copies, by
  // the memory itself (leftovers.hpp).
  std::shared_ptr<ReachedMemory> room;
  std::vector<HostCopy> before, after;  // of buffers that are host memory
  bool captured = false;                // posted any number of times, not once
  bool is_first = true;                 // of what was enqueued together
};

// But for stop(), by one thread at a time.
class Errands {
 public:
  // `run` does one errand after the other, on a thread of this object. What goes wrong there is its
  // own to tell.
  static Result<std::unique_ptr<Errands>> create(const gyreBackend& backend, int ordinal,
                                                 std::function<void(const Errand&)> run);
  // Waits for nothing: what an errand at work uses is kept until it ends.
  ~Errands();
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;

  // Memory of at least so many bytes; null: of none. Calls of a communicator follow each other, so
  // that all errands share one room, until it is too small.
  Result<std::shared_ptr<ReachedMemory>> room(std::size_t bytes);
  // What the kernel that is enqueued next posts.
  device::Errand add(Errand errand);
  // That kernel could not be enqueued.
  void drop(const device::Errand& errand);

  // Runs no further errand: kernels leave without. Whether none is at work any more, at the latest
  // at the deadline; of the thread that runs them itself: yes. From any thread.
  bool stop(Deadline deadline);

 private:
  struct State;

  explicit Errands(std::shared_ptr<State> state) : state_(std::move(state)) {}
  static void work(const std::shared_ptr<State>& state);

  std::shared_ptr<State> state_;  // the thread's as well
  std::shared_ptr<ReachedMemory> room_;
};

}  // namespace gyre
