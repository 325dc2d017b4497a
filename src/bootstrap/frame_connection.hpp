// A connection that carries frames, driven by the reactor.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "base/fd.hpp"
#include "bootstrap/frame.hpp"
#include "bootstrap/reactor.hpp"

namespace gyre {

// Everything here, construction and destruction included, happens on the reactor's thread.
class FrameConnection : public std::enable_shared_from_this<FrameConnection> {
 public:
  struct Callbacks {
    std::function<void(Frame)> on_frame;
    // The connection ended by itself; `how` completes "rank 3 ...". Called at most once, last.
    std::function<void(std::string how)> on_end;
  };

  static std::shared_ptr<FrameConnection> start(Fd fd, std::size_t max_payload,
                                                Callbacks callbacks);
  ~FrameConnection() { close(); }

  // Sends at once what the socket takes and keeps the rest, up to a bound of frames; a peer that
  // lets more than that pile up is given up.
  void send(SharedBytes frame);
  bool flushed() const { return queue_.empty(); }
  bool open() const { return static_cast<bool>(fd_); }

  // Ends the connection now; no callback is called any more.
  void close();
  // Closes as soon as everything was sent and the peer closed its end, or at `time`. Frames that
  // still arrive are dropped: closing with unread bytes would reset the connection and could
  // destroy our last frames on their way.
  void close_gently(Clock::time_point time);

 private:
  FrameConnection(Fd fd, std::size_t max_payload, Callbacks callbacks)
      : fd_(std::move(fd)),
        decoder_(max_payload),
        callbacks_(std::make_shared<const Callbacks>(std::move(callbacks))) {}
  void on_events(std::uint32_t events);
  void read();
  void write();
  void end(std::string how);
  void end_soon(std::string how);

  Fd fd_;
  Reactor::Token token_;
  FrameDecoder decoder_;
  std::shared_ptr<const Callbacks> callbacks_;  // shared: a callback may close the connection
  std::deque<SharedBytes> queue_;
  std::size_t sent_ = 0;  // bytes of queue_.front()
  bool wants_write_ = false;
  bool closing_ = false;
  Reactor::TimerToken last_call_;
};

}  // namespace gyre
