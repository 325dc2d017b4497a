// The one listening port of a process. It accepts on the reactor, runs each connection's handshake
// as a non-blocking state machine, and hands over the connections that proved to know the secret.
//
// Strangers cost others little: each pending connection has its own deadline
// (GYRE_HANDSHAKE_TIMEOUT), the pending list is bounded (the oldest gives way), and a connection
// about an unknown job is closed at its first message. Somebody who opens hundreds at a time can
// push out ranks that are shaking hands; they dial again.
#pragma once

#include <cstdint>
#include <functional>
#include <utility>

#include "base/fd.hpp"
#include "base/status.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/job_key.hpp"

namespace gyre {

class Listener {
 public:
  // Runs on the reactor's thread; `fd` is non-blocking with TCP_NODELAY set.
  using Handler = std::function<void(const Hello&, Fd)>;
  using Id = std::uint64_t;

  // Ends what it stands for when destroyed; the handler is then not running and never will again
  // (the same guarantee as Reactor::Token).
  class Registration {
   public:
    Registration() = default;
    explicit Registration(Id id) : id_(id) {}
    Registration(Registration&& other) noexcept : id_(std::exchange(other.id_, 0)) {}
    Registration& operator=(Registration&& other) noexcept {
      if (this != &other) {
        reset();
        id_ = std::exchange(other.id_, 0);
      }
      return *this;
    }
    ~Registration() { reset(); }
    void reset();
    explicit operator bool() const { return id_ != 0; }

   private:
    Id id_ = 0;
  };

  static Listener& instance();

  // The port, opened by the first call (within GYRE_PORT_RANGE if set). Any thread.
  Result<std::uint16_t> port();

  // Connections for (key, purpose) go to `handler` from now on. The registration of one rank
  // receives only connections whose Hello names it as `to_rank`, so that several ranks of one
  // process can share a key. Error `busy` if (key, purpose, to_rank) is taken.
  [[nodiscard]] Result<Registration> expect(const JobKey& key, Purpose purpose,
                                            std::uint32_t to_rank, Handler handler);

  // The same for connections to any rank that has no registration of its own.
  [[nodiscard]] Result<Registration> expect(const JobKey& key, Purpose purpose, Handler handler) {
    return expect(key, purpose, kAnyRank, std::move(handler));
  }
  static constexpr std::uint32_t kAnyRank = 0xffffffff;

  // Also listens at a fixed address (a wildcard if `address.is_any()`) while the result lives. Two
  // holders of the same address share it.
  [[nodiscard]] Result<Registration> also_listen_on(const Address& address);

  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

 private:
  Listener();
  struct Impl;
  Impl* impl_;  // never freed: the reactor uses it until the process ends
};

}  // namespace gyre
