// What kernels of this process may have used and nobody needs any more, until it can be given back.
//
// The vendors' calls that free device memory, unpin host memory or close another process's memory
// wait for every kernel of the device, and every launch of the process waits for them meanwhile
// (CUDA 13 on an H200: cudaFree, cudaFreeHost and cudaIpcCloseMemHandle do, opening and allocating
// do not). A kernel of ours may wait for a peer that such a launch would start. So these calls are
// made only while none of ours runs, by a thread of their own. They wait for the user's kernels all
// the same, and whoever enqueues meanwhile waits for them.
//
// Where calls follow each other without a gap, one is made: once a second, enqueueing waits for at
// most 50 ms.
#pragma once

#include <functional>
#include <list>
#include <mutex>
#include <shared_mutex>
#include <vector>

#include "base/clock.hpp"

namespace gyre {

// All functions from any thread.
class Leftovers {
 public:
  // First asked for when the back-end's runtime is at work: the thread ends before that does.
  static Leftovers& of_process();

  // Held while kernels are enqueued: nothing is given back meanwhile.
  [[nodiscard]] std::shared_lock<std::shared_mutex> enqueueing() {
    return std::shared_lock(enqueueing_);
  }

  // While it is there, nothing is given back unless `is_idle` says that no kernel of its owner
  // runs. Asked while nothing is enqueued.
  class Watch {
   public:
    explicit Watch(std::function<bool()> is_idle);
    ~Watch();
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

   private:
    std::list<std::function<bool()>>::iterator place_;
  };
  // The same until `is_idle` came true.
  void watch_until(std::function<bool()> is_idle);

  // Has it given back, soon.
  void add(std::function<void()> give_back);
  // Gives back what there is if no kernel runs, at the latest at the deadline; whether nothing is
  // left. What add() starts does it; for tests.
  bool settle(Deadline deadline);

 private:
  void run();
  bool is_idle();

  std::shared_mutex enqueueing_;
  std::mutex mutex_;  // guards what follows; taken after enqueueing_
  std::list<std::function<bool()>> watches_;
  std::list<std::function<bool()>> passing_;  // of watch_until()
  std::vector<std::function<void()>> all_;
  bool running_ = false;  // the thread, until there is nothing left
};

}  // namespace gyre
