// Ends the program when one operation takes longer than -T allows.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace gyre::bench {

// Guards one measuring thread. On expiry `expired` runs on the watchdog's thread; as the guarded
// thread may be inside the library then, and for ever, it is expected to end the process.
class Watchdog {
 public:
  // `timeout` zero: no guard at all, and arm() costs nothing.
  Watchdog(std::chrono::seconds timeout, std::function<void()> expired);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  // Starts the time anew. Lock-free.
  void arm();
  void disarm();

 private:
  using Clock = std::chrono::steady_clock;
  void watch(const std::function<void()>& expired);

  const std::chrono::seconds timeout_;
  // Deadline in ticks of the clock, 0 when disarmed. Relaxed: nothing else is published by it.
  std::atomic<Clock::rep> deadline_{0};
  std::mutex mutex_;
  std::condition_variable stopped_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace gyre::bench
