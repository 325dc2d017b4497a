#include "transport/shm/channel.hpp"

#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/contain.hpp"
#include "base/log.hpp"
#include "transport/shm/region.hpp"

namespace gyre::shm {
namespace {

// More regions of one peer than this are not mapped.
constexpr std::size_t kMaxRegions = 1 << 16;

Fd open_process(::pid_t pid) {
  return pid > 0 ? Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) : Fd();
}

}  // namespace

Channel::Channel(int rank, int peer, Fd socket, ::pid_t pid,
                 std::shared_ptr<std::atomic<bool>> gone)
    : rank_(rank), peer_(peer), pid_(pid), socket_(std::move(socket)), gone_(std::move(gone)) {
  // A process's own death needs no watching.
  if (pid != ::getpid()) process_ = open_process(pid);
}

Message Channel::blank(MessageType type) const {
  Message message;
  message.type = type;
  message.from = rank_;
  message.to = peer_;
  return message;
}

void Channel::start(PeerEvents* events) {
  const std::lock_guard lock(mutex_);
  events_ = events;
  const std::weak_ptr<Channel> weak = weak_from_this();
  socket_token_ = Reactor::instance().watch(socket_.get(), EPOLLIN, [weak](std::uint32_t) {
    if (const auto self = weak.lock()) self->receive();
  });
  if (process_) {
    process_token_ = Reactor::instance().watch(process_.get(), EPOLLIN, [weak](std::uint32_t) {
      const auto self = weak.lock();
      if (self == nullptr) return;
      self->receive();  // a goodbye may lie in the socket
      {
        const std::lock_guard held(self->mutex_);
        self->end_locked("its process ended");
      }
      self->tell();
    });
  }
}

void Channel::close(bool goodbye) {
  Reactor::Token socket_token, process_token;
  {
    const std::lock_guard lock(mutex_);
    events_ = nullptr;
    if (goodbye && !ended()) {
      queue_.clear();  // regions are of no use any more
      // Destructors come here: without memory there is no goodbye.
      (void)contained("", [&]() -> Result<void> {
        send_or_queue({blank(MessageType::goodbye), Fd()});
        return {};
      });
      queue_.clear();
    }
    ended_.store(true, std::memory_order_release);
    socket_token = std::move(socket_token_);
    process_token = std::move(process_token_);
  }
  socket_token.reset();  // without the mutex, which the handlers take
  process_token.reset();
  const std::lock_guard lock(mutex_);
  socket_.reset();
  process_.reset();
}

bool Channel::share(std::uint64_t id, std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (shared_.contains(id)) return true;
  if (ended()) return false;
  RegionFile region = region_file(id);
  if (!region.file) return false;
  Message message = blank(MessageType::region);
  message.region = id;
  message.bytes = bytes;
  message.address = region.offset;
  if (!send_or_queue({message, std::move(region.file)})) return false;
  shared_.insert(id);
  return true;
}

void Channel::forget(std::uint64_t id) {
  const std::lock_guard lock(mutex_);
  if (shared_.erase(id) == 0 || ended()) return;
  Message message = blank(MessageType::region_gone);
  message.region = id;
  send_or_queue({message, Fd()});
}

bool Channel::send_or_queue(Outgoing outgoing) {
  if (queue_.empty()) {
    const int fd = outgoing.descriptor.get();
    const auto sent = send_message(socket_, outgoing.message,
                                   fd < 0 ? std::span<const int>() : std::span(&fd, 1));
    if (!sent) {
      log_info(Subsystem::shm, "rank {} to rank {}: {}", rank_, peer_, sent.error().text);
      return false;
    }
    if (*sent) return true;
  }
  queue_.push_back(std::move(outgoing));
  if (socket_token_) Reactor::instance().modify(socket_token_, EPOLLIN | EPOLLOUT);
  return true;
}

void Channel::flush_locked() {
  while (!queue_.empty()) {
    const Outgoing& next = queue_.front();
    const int fd = next.descriptor.get();
    const auto sent =
        send_message(socket_, next.message, fd < 0 ? std::span<const int>() : std::span(&fd, 1));
    if (!sent) return end_locked("its connection failed: " + sent.error().text);
    if (!*sent) return;
    queue_.pop_front();
    if (queue_.empty() && socket_token_) Reactor::instance().modify(socket_token_, EPOLLIN);
  }
}

void Channel::receive() {
  {
    const std::lock_guard lock(mutex_);
    if (!ended()) {
      receive_locked();
      flush_locked();
    }
  }
  tell();
}

void Channel::receive_locked() {
  Message message;
  std::vector<Fd> descriptors;
  while (!ended()) {
    const auto received = receive_message(socket_, message, descriptors);
    if (!received) return end_locked(received.error().text);
    if (*received == Received::nothing) return;
    if (*received == Received::end) return end_locked("closed its connection");
    if (*received == Received::cut) {
      if (message.type != MessageType::region) return end_locked(std::string(kCutOff));
      // Like one that cannot be mapped: the peer is there as before.
      log_warn("rank {}: memory of rank {}: {}", rank_, peer_, kCutOff);
      continue;
    }
    switch (message.type) {
      case MessageType::region:
        take_region(message, descriptors);
        break;
      case MessageType::region_gone:
        regions_.erase(message.region);
        version_.fetch_add(1, std::memory_order_release);
        if (gone_ != nullptr) gone_->store(true, std::memory_order_release);
        break;
      case MessageType::goodbye:
        left_ = true;
        break;
      default:
        return end_locked(fmt::format("sent a message that makes no sense now (type {})",
                                      static_cast<std::uint32_t>(message.type)));
    }
  }
}

// A region that cannot be mapped stays unknown; fetch() then says so when it is needed.
void Channel::take_region(const Message& message, std::vector<Fd>& descriptors) {
  if (descriptors.size() != 1 || regions_.size() >= kMaxRegions) return;
  auto mapped = PeerMemory::map(descriptors[0], message.address, message.bytes);
  if (!mapped) {
    return log_warn("rank {}: memory of rank {}: {}", rank_, peer_, mapped.error().text);
  }
  regions_[message.region] = std::make_shared<const PeerMemory>(*std::move(mapped));
  version_.fetch_add(1, std::memory_order_release);
}

RegionMap Channel::regions() const {
  const std::lock_guard lock(mutex_);
  return regions_;
}

void Channel::end_locked(std::string how) {
  if (ended_.exchange(true, std::memory_order_acq_rel)) return;
  how_ = std::move(how);
  queue_.clear();
  // Level-triggered: an ended connection would wake the reactor for ever. On the reactor a token
  // never waits, so that it may go under the mutex; hence close() never closes a watched socket.
  Reactor::instance().post([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self == nullptr) return;
    const std::lock_guard lock(self->mutex_);
    self->socket_token_.reset();
    self->process_token_.reset();
  });
}

void Channel::tell() {
  PeerEvents* events = nullptr;
  std::string how;
  bool left = false;
  {
    const std::lock_guard lock(mutex_);
    if (!ended() || told_ || events_ == nullptr) return;
    told_ = true;
    events = events_;
    how = how_;
    left = left_;
  }
  if (left) return events->ended(peer_);
  events->lost(peer_, std::move(how));
}

}  // namespace gyre::shm
