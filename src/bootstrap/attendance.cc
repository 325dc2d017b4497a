#include "bootstrap/attendance.hpp"

#include <fmt/format.h>

#include <utility>

#include "bootstrap/spoke.hpp"

namespace gyre {

Attendance::~Attendance() {
  if (spoke_) spoke_->stop();
}

void Attendance::hold(std::shared_ptr<Spoke> spoke) { spoke_ = std::move(spoke); }

void Attendance::watch(AbortState& abort) {
  std::optional<Error> early;
  {
    const std::lock_guard lock(mutex_);
    abort_ = &abort;
    early = std::move(early_);
  }
  if (early) abort.raise(*std::move(early));
}

void Attendance::reached_rank_0() {
  const std::lock_guard lock(mutex_);
  reached_ = true;
}

void Attendance::give_up(const Error& error) { spoke_->announce(error); }

void Attendance::goodbye() { spoke_->goodbye(); }

void Attendance::announced(int, Error error) {
  // A peer's own fault is a remote error here; a deadline stays one for everybody.
  if (error.status != Status::timeout) error.status = Status::peer_lost;
  raise(std::move(error));
}

// Only the end of the hub itself comes this way: it announces the loss of any other rank.
void Attendance::lost(int, std::string how) {
  {
    const std::lock_guard lock(mutex_);
    if (reached_) return;
  }
  raise({Status::peer_lost,
         fmt::format("init: the process that made the unique id, or rank 0 of a fixed address, "
                     "{} before the ranks were connected",
                     how)});
}

void Attendance::raise(Error error) {
  AbortState* abort = nullptr;
  {
    const std::lock_guard lock(mutex_);
    abort = abort_;
    if (abort == nullptr && !early_) early_ = error;
  }
  if (abort != nullptr) abort->raise(std::move(error));
}

}  // namespace gyre
