#include "bootstrap/frame_connection.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <system_error>
#include <utility>

#include "base/contain.hpp"
#include "bootstrap/socket_util.hpp"

namespace gyre {
namespace {

constexpr std::size_t kMaxQueuedFrames = 4096;
// Per event, so that one talkative peer does not keep the reactor from the others.
constexpr int kReadsPerEvent = 16;

}  // namespace

std::shared_ptr<FrameConnection> FrameConnection::start(Fd fd, std::size_t max_payload,
                                                        Callbacks callbacks) {
  set_keep_alive(fd);
  set_send_timeout(fd);
  std::shared_ptr<FrameConnection> connection(
      new FrameConnection(std::move(fd), max_payload, std::move(callbacks)));
  // Weak: the owner decides how long it lives.
  connection->token_ = Reactor::instance().watch(
      connection->fd_.get(), EPOLLIN, [weak = connection->weak_from_this()](std::uint32_t events) {
        if (const auto self = weak.lock()) self->on_events(events);
      });
  return connection;
}

void FrameConnection::close() {
  token_.reset();
  fd_.reset();
  queue_.clear();
  last_call_.reset();
  callbacks_.reset();
}

void FrameConnection::close_gently(Clock::time_point time) {
  if (!fd_ || closing_) return;
  closing_ = true;
  if (queue_.empty()) ::shutdown(fd_.get(), SHUT_WR);
  // The timer's closure is what keeps this object alive until then.
  last_call_ = Reactor::instance().at(time, [self = shared_from_this()] { self->close(); });
}

void FrameConnection::end(std::string how) {
  const auto callbacks = callbacks_;
  close();
  if (callbacks && !closing_) callbacks->on_end(std::move(how));
}

// Not at once: the caller may be walking over its connections.
void FrameConnection::end_soon(std::string how) {
  Reactor::instance().post([weak = weak_from_this(), how = std::move(how)] {
    if (const auto self = weak.lock()) self->end(how);
  });
}

void FrameConnection::on_events(std::uint32_t events) {
  const auto served = contained("this process cannot serve it", [&]() -> Result<void> {
    if ((events & EPOLLOUT) != 0) write();
    if (fd_ && (events & ~static_cast<std::uint32_t>(EPOLLOUT)) != 0) read();
    return {};
  });
  // A frame may be lost with the exception, and whoever waits for it must not wait for ever.
  if (!served) end(fmt::format("lost its connection ({})", served.error().text));
}

void FrameConnection::read() {
  std::array<std::byte, 64 << 10> buffer;
  for (int i = 0; i < kReadsPerEvent && fd_; ++i) {
    const IoResult got = receive_some(fd_, buffer);
    if (got.state == IoState::again) return;
    if (got.state == IoState::ended) {
      end(got.error == 0 ? "closed its connection"
                         : fmt::format("broke its connection ({})",
                                       std::generic_category().message(got.error)));
      return;
    }
    if (closing_) continue;
    decoder_.feed(std::span(buffer).first(got.bytes));
    while (fd_ && !closing_) {
      auto frame = decoder_.next();
      if (!frame) {
        end(fmt::format("sent nonsense ({})", frame.error().text));
        return;
      }
      if (!*frame) break;
      const auto callbacks = callbacks_;
      callbacks->on_frame(std::move(**frame));
    }
  }
}

void FrameConnection::write() {
  while (fd_ && !queue_.empty()) {
    const IoResult sent = send_some(fd_, std::span(*queue_.front()).subspan(sent_));
    if (sent.state == IoState::again) break;
    if (sent.state == IoState::ended) {
      queue_.clear();
      sent_ = 0;
      // What the peer sent before it went may still be read; read() then finds the end. Any other
      // error nobody would find.
      if (sent.error != EPIPE && sent.error != ECONNRESET) {
        end_soon(
            fmt::format("lost its connection ({})", std::generic_category().message(sent.error)));
      }
      break;
    }
    sent_ += sent.bytes;
    if (sent_ == queue_.front()->size()) {
      queue_.pop_front();
      sent_ = 0;
    }
  }
  if (!fd_) return;
  if (closing_ && queue_.empty()) ::shutdown(fd_.get(), SHUT_WR);
  if (wants_write_ != !queue_.empty()) {
    wants_write_ = !queue_.empty();
    Reactor::instance().modify(token_, wants_write_ ? EPOLLIN | EPOLLOUT : EPOLLIN);
  }
}

void FrameConnection::send(SharedBytes frame) {
  if (!fd_ || closing_) return;
  if (queue_.size() >= kMaxQueuedFrames) return end_soon("stopped reading its connection");
  queue_.push_back(std::move(frame));
  if (queue_.size() == 1) write();
}

}  // namespace gyre
