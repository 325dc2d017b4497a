// `gyre run`: starts the ranks of a job on this machine and looks after them to the end.
#pragma once

#include <sys/signalfd.h>
#include <sys/types.h>

#include <csignal>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/fd.hpp"
#include "base/status.hpp"
#include "tools/gyre/line_prefixer.hpp"
#include "tools/gyre/run_options.hpp"

namespace gyre::tools {

// One thread, one poll loop: signals (a child's end among them) come through a signalfd, output
// through pipes. The ranks stay in the launcher's process group, so that a terminal's Ctrl-C,
// Ctrl-Z and reads of standard input work as for a single program.
class Launcher {
 public:
  explicit Launcher(RunOptions options) : options_(std::move(options)) {}

  // Runs the job; returns the launcher's exit status: 0, or that of the rank that failed first
  // (128 + signal if one ended it), or kTimedOut.
  Result<int> run();

  static constexpr int kTimedOut = 124;

 private:
  struct Rank {
    pid_t pid = -1;
    bool alive = false;
  };
  struct Stream {
    Fd pipe;
    int target;  // 1 or 2
    LinePrefixer lines;
  };
  struct End {
    int rank;
    int status;  // of waitpid
  };

  Result<void> take_signals();
  Result<void> start_ranks();
  Result<pid_t> start_rank(int rank, const std::vector<std::string>& environment);
  void watch();
  void step();
  void on_signal(const signalfd_siginfo& signal);
  void reap();
  void on_end(const End& end);
  void fail(int exit_status);
  void forward(int signal);
  void stop_ranks(int signal);
  void check_deadlines();
  bool pump(Stream& stream);  // whether there may be more to read now
  void drain();
  void emit(int target, const std::string& text);
  int living() const;

  RunOptions options_;
  std::vector<Rank> ranks_;
  std::vector<std::unique_ptr<Stream>> streams_;
  Fd signals_;
  sigset_t original_mask_{};
  Deadline timeout_ = Deadline::never();
  Deadline kill_at_ = Deadline::never();
  std::optional<int> exit_status_;
  bool interrupted_ = false;
  bool reader_gone_ = false;
};

}  // namespace gyre::tools
