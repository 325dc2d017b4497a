// A rank's place at a rendezvous, kept after everybody met until its next connections stand: who
// dies in between is noticed at once, as nobody else watches that rank yet.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "base/abort.hpp"
#include "base/status.hpp"
#include "bootstrap/control.hpp"

namespace gyre {

class Spoke;

// Threads: the public functions are for one thread at a time; events come on the reactor's thread
// and cross under `mutex_`.
class Attendance final : public ControlEvents {
 public:
  Attendance() = default;
  // Without goodbye() before, the other ranks see this one as lost.
  ~Attendance() override;
  Attendance(const Attendance&) = delete;
  Attendance& operator=(const Attendance&) = delete;

  // The connection whose events come here; once, and before anything else.
  void hold(std::shared_ptr<Spoke> spoke);
  // From now on `abort` is raised when another rank is lost or gives up; at once if one was.
  // `abort` outlives the attendance.
  void watch(AbortState& abort);
  // Rank 0 is connected by other means, which show its end: that of the rendezvous is none.
  void reached_rank_0();
  // All other ranks that still attend end with this rank's error.
  void give_up(const Error& error);
  // This rank needs nobody's watching any more.
  void goodbye();

 private:
  void announced(int from, Error error) override;
  void lost(int rank, std::string how) override;
  void left(int) override {}
  void raise(Error error);

  std::shared_ptr<Spoke> spoke_;
  std::mutex mutex_;
  AbortState* abort_ = nullptr;
  std::optional<Error> early_;  // came before watch()
  bool reached_ = false;
};

}  // namespace gyre
