// The abort contract: one flag that every wait of a communicator polls, and one reason.
//
// Ownership and order: any thread may raise; the first one wins and writes the reason under the
// mutex before it stores `raised_` with release. A waiter that loads `raised()` with acquire may
// then call reason(). Nothing ever clears it: an aborted communicator stays aborted.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

#include "base/status.hpp"

namespace gyre {

class AbortState {
 public:
  bool raised() const { return raised_.load(std::memory_order_acquire); }

  // Records `error` if nothing was raised before; returns whether it did. Then runs the wake-ups.
  bool raise(Error error);

  // The first error raised. Only after raised().
  Error reason() const;

  // Adds a function that wakes a sleeper when the state is raised (rings a bell, say). Runs at
  // once if already raised. It may run on any thread and must not block.
  void on_raise(std::function<void()> wake);

 private:
  std::atomic<bool> raised_{false};
  mutable std::mutex mutex_;
  Error reason_;
  std::vector<std::function<void()>> wakes_;
};

}  // namespace gyre
