// The one background thread of a process: an epoll loop that accepts, shakes hands, and carries the
// control frames of every communicator.
//
// Started by the first instance() call, never stopped. Callbacks run on it and must not block.
// A forked child has no such thread: there, every call is a harmless no-op.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <utility>

#include "base/clock.hpp"

namespace gyre {

class Reactor {
 public:
  using Handler = std::function<void(std::uint32_t epoll_events)>;
  using Id = std::uint64_t;

  // Undoes its registration when destroyed, and then guarantees that the handler is not running
  // and never will again. On the reactor's thread (the handler itself included) it never waits; on
  // any other thread it waits for a running handler, so hold no lock that the handler takes.
  class Token {
   public:
    Token() = default;
    explicit Token(Id id) : id_(id) {}
    Token(Token&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
    Token& operator=(Token&& other) noexcept {
      if (this != &other) {
        reset();
        id_ = std::exchange(other.id_, 0);
      }
      return *this;
    }
    ~Token() { reset(); }
    void reset();
    explicit operator bool() const { return id_ != 0; }
    Id id() const { return id_; }

   private:
    Id id_ = 0;
  };
  using TimerToken = Token;

  // Throws std::system_error where the process has no descriptor or thread for it; the next call
  // tries again.
  static Reactor& instance();

  // Calls `handler` with the epoll events of `fd` (level-triggered; EPOLLHUP and EPOLLERR always).
  // The caller keeps `fd` open for longer than the token. Any thread. Throws std::system_error if
  // the kernel cannot watch `fd`.
  [[nodiscard]] Token watch(int fd, std::uint32_t events, Handler handler);
  void modify(const Token& token, std::uint32_t events);

  // Runs `work` once on the reactor's thread, in the order of the calls. Any thread. What it throws
  // is logged and dropped.
  void post(std::function<void()> work);
  // Like post(), but waits until it ran and throws what it threw; runs at once on the reactor's
  // thread. Takes no memory: destructors call it.
  template <typename Work>
  void run(Work&& work) {
    const auto call = [](void* erased) {
      (*static_cast<std::remove_reference_t<Work>*>(erased))();
    };
    run_erased(call, const_cast<void*>(static_cast<const void*>(std::addressof(work))));
  }

  // Runs `work` once at `time`, unless the token is destroyed before.
  [[nodiscard]] TimerToken at(Clock::time_point time, std::function<void()> work);

  bool on_reactor_thread() const;

  Reactor(const Reactor&) = delete;
  Reactor& operator=(const Reactor&) = delete;

 private:
  Reactor();
  void run_erased(void (*call)(void*), void* work);
  struct Impl;
  Impl* impl_;  // never freed: the thread uses it until the process ends
};

}  // namespace gyre
