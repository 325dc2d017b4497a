#include "transport/socket/linger.hpp"

#include <sys/epoll.h>

#include "bootstrap/reactor.hpp"

namespace gyre::socket {
namespace {

constexpr milliseconds kLongest{5'000};

// Lives in its own handlers' captures until the link is finished or the time is up.
struct Lingering {
  std::unique_ptr<SocketLink> link;
  std::vector<Reactor::Token> streams;
  Reactor::TimerToken timer;
};

// By value, here and below: the handler that calls may be destroyed, and its capture with it.
void stop(std::shared_ptr<Lingering> self) {
  // The tokens go first: their descriptors are open until then.
  self->streams.clear();
  self->timer.reset();
  self->link.reset();
}

void step(std::shared_ptr<Lingering> self);

void watch(const std::shared_ptr<Lingering>& self) {
  self->streams.resize(self->link->streams());
  for (std::size_t i = 0; i < self->streams.size(); ++i) {
    const short wanted = self->link->finish_events(i);
    const std::uint32_t events = ((wanted & POLLIN) != 0 ? std::uint32_t{EPOLLIN} : 0U) |
                                 ((wanted & POLLOUT) != 0 ? std::uint32_t{EPOLLOUT} : 0U);
    if (events == 0) {
      self->streams[i].reset();
    } else if (!self->streams[i]) {
      self->streams[i] = Reactor::instance().watch(self->link->fd(i), events,
                                                   [self](std::uint32_t) { step(self); });
    } else {
      Reactor::instance().modify(self->streams[i], events);
    }
  }
}

void step(std::shared_ptr<Lingering> self) {
  if (self->link == nullptr) return;
  if (self->link->finish()) return stop(std::move(self));
  watch(self);
}

}  // namespace

void linger(std::vector<std::unique_ptr<SocketLink>> links) {
  for (auto& link : links) {
    link->own_payloads();
    // Usually all of it goes at once, here; a process that exits now has said goodbye.
    if (link->finish()) continue;
    auto self = std::make_shared<Lingering>();
    self->link = std::move(link);
    Reactor::instance().post([self] {
      self->timer = Reactor::instance().at(Clock::now() + kLongest, [self] { stop(self); });
      step(self);
    });
  }
}

}  // namespace gyre::socket
