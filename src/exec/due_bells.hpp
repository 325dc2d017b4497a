// The peers that a sweep gave something to, to be woken after it if they sleep.
//
// A ring needs a fence between what was published and the look at the bell, and the fence waits
// until every store before it has reached its line: a fifth of a small call, and more where slots
// are copied. So one fence serves a sweep. A peer that is seen to sleep is woken at once.
#pragma once

#include <vector>

#include "transport/transport.hpp"

namespace gyre {

class DueBells {
 public:
  explicit DueBells(std::size_t links) { due_.reserve(links); }

  // Something was published to the link's peer. No allocation: each link is in the list once.
  void add(Link& link) {
    if (link.peer_bell.word == nullptr) return;
    if (link.peer_bell.seen_asleep()) link.peer_bell.ring();
    if (link.bell_due) return;
    link.bell_due = true;
    due_.push_back(&link);
  }

  // A slot was given back to the link's peer. It can only wait for that if all its slots were full;
  // with nothing more in the lane it is busy elsewhere, and needs no fence. (Were it to fill the
  // lane and fall asleep before this core's store is seen, its longest sleep ends it.)
  void add_credit(Link& link) {
    const bool waits = link.receive.view().slots == 1 || link.receive.front() != nullptr;
    if (waits) return add(link);
    if (link.peer_bell.word != nullptr && link.peer_bell.seen_asleep()) link.peer_bell.ring();
  }

  void ring() {
    if (due_.empty()) return;
#if defined(__SANITIZE_THREAD__)
    for (const Link* link : due_) link->peer_bell.fence();  // there each word has its own
#else
    due_.front()->peer_bell.fence();
#endif
    for (Link* link : due_) {
      link->bell_due = false;
      link->peer_bell.wake();
    }
    due_.clear();
  }

 private:
  std::vector<Link*> due_;
};

}  // namespace gyre
