// A host stream: an ordered queue of work with one worker thread, the host's cudaStream_t.
//
// Who owns what: the mutex guards the queue, the counters and the error; the worker alone runs
// work, outside the mutex. A stream lives in the process's registry until destroy(), which makes
// "wait for all streams" possible and lets a waiter outlive a concurrent destroy(). A forked child
// has no workers and perhaps locked mutexes: there every call refuses before it touches either.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "backend/task.hpp"
#include "base/status.hpp"

namespace gyre {

class HostStream {
 public:
  // A new stream of the registry, to be ended by destroy(). Its worker starts with its first work.
  static Result<HostStream*> create();
  // The stream behind an opaque handle; null for the null stream, CUDA's special handles (1, 2)
  // and anything else that is not a live host stream. A foreign handle must point at readable
  // memory, as every driver's stream does.
  static HostStream* from(void* stream);
  // Completes the queued work, then frees the stream; the error of its work, or why it cannot be
  // destroyed. In a forked child: an error, and no more.
  static Result<void> destroy(HostStream* stream);
  // The first half: takes the stream out of the registry, so that its last owner frees it.
  static Result<std::shared_ptr<HostStream>> release(HostStream* stream);
  // Completes the queued work of every stream of this process; the first error found.
  static Result<void> synchronize_all();

  HostStream(const HostStream&) = delete;
  HostStream& operator=(const HostStream&) = delete;
  ~HostStream();

  void* handle() { return this; }

  // Adds work, which returns void or Result<void>; it runs after all work enqueued before. Never
  // waits for running work. Fails only in a forked child, or if the worker cannot be started; the
  // work is then dropped. Work that fails does not stop later work: skipping a collective on one
  // rank would leave its peers waiting.
  template <typename F>
  Result<void> enqueue(F&& work) {
    return enqueue_task(Task(std::forward<F>(work)));
  }
  // Waits for the work enqueued before the call; then the stream's first error, if any, on this
  // and every later call. An error when called by the stream's own work.
  Result<void> synchronize();
  // Whether nothing is queued or running. In a forked child: true.
  bool idle() const;
  // The first error of the stream's work.
  std::optional<Error> error() const;

 private:
  HostStream();
  Result<void> enqueue_task(Task task);
  // Both with the mutex held.
  Result<void> start_worker();
  void push(Task task);
  void run();

  std::atomic<std::uint64_t> magic_;  // first: from() reads it through a pointer of unknown type
  mutable std::mutex mutex_;
  std::condition_variable work_ready_;
  std::condition_variable work_done_;
  // A ring of a power of two of slots: work number i lies at ring_[i % size] until it starts.
  std::vector<Task> ring_;
  std::uint64_t enqueued_ = 0;
  std::uint64_t started_ = 0;
  std::uint64_t done_ = 0;
  int waiters_ = 0;
  bool stopping_ = false;
  std::optional<Error> error_;
  std::thread worker_;
};

}  // namespace gyre
