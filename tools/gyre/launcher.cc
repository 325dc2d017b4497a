#include "tools/gyre/launcher.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "tools/gyre/child.hpp"
#include "tools/gyre/rank_environment.hpp"

namespace gyre::tools {
namespace {

constexpr std::array kForwarded = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

bool asks_to_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

// All of `text`, waiting for a slow reader; false if the reader is gone.
bool write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written >= 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      pollfd writable{fd, POLLOUT, 0};
      ::poll(&writable, 1, -1);
    } else if (errno != EINTR) {
      return false;
    }
  }
  return true;
}

void say(const std::string& text) { write_all(2, "gyre run: " + text + '\n'); }

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) {
    const int signal = WTERMSIG(status);
    return fmt::format("was ended by signal {} ({}){}", signal, ::strsignal(signal),
                       WCOREDUMP(status) ? ", core dumped" : "");
  }
  return fmt::format("exited with status {}", WEXITSTATUS(status));
}

int exit_status_of(int status) {
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

Result<int> Launcher::run() {
  GYRE_TRY(take_signals());
  GYRE_TRY(adopt_orphans());
  if (options_.timeout.count() > 0) timeout_ = Deadline::after(options_.timeout);
  if (auto started = start_ranks(); !started) {
    kill_descendants();
    return std::move(started).error();
  }
  watch();
  return exit_status_.value_or(0);
}

Result<void> Launcher::take_signals() {
  sigset_t taken;
  ::sigemptyset(&taken);
  ::sigaddset(&taken, SIGCHLD);
  for (const int signal : kForwarded) ::sigaddset(&taken, signal);
  // A reader that goes away is an error of write(), not the end of the launcher.
  ::signal(SIGPIPE, SIG_IGN);
  // An ignored SIGCHLD (some shells and supervisors leave it so) would make waitpid useless.
  ::signal(SIGCHLD, SIG_DFL);
  if (::sigprocmask(SIG_BLOCK, &taken, &original_mask_) != 0) {
    return system_error("gyre run: sigprocmask", errno);
  }
  ::sigdelset(&original_mask_, SIGCHLD);
  signals_ = Fd(::signalfd(-1, &taken, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) return system_error("gyre run: signalfd", errno);
  return {};
}

Result<void> Launcher::start_ranks() {
  GYRE_TRY_ASSIGN(const Job job, create_job(options_.ranks));
  const auto inherited = own_environment();
  ranks_.resize(static_cast<std::size_t>(options_.ranks));
  for (int rank = 0; rank < options_.ranks; ++rank) {
    GYRE_TRY_ASSIGN(const pid_t pid,
                    start_rank(rank, rank_environment(inherited, job, rank, options_.environment)));
    ranks_[static_cast<std::size_t>(rank)] = {pid, true};
  }
  return {};
}

Result<pid_t> Launcher::start_rank(int rank, const std::vector<std::string>& environment) {
  ChildSpec spec;
  spec.command = options_.command;
  spec.environment = environment;
  spec.mask = original_mask_;
  spec.core = core_of(options_.binding, rank, usable_cores());
  Fd nothing;
  if (rank != 0) {
    nothing = Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!nothing) return system_error("gyre run: /dev/null", errno);
    spec.in = nothing.get();
  }
  if (!options_.tag_output) return start_child(spec);

  std::array<Fd, 2> writers;
  for (int target = 1; target <= 2; ++target) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return system_error("gyre run: pipe", errno);
    writers[static_cast<std::size_t>(target - 1)] = Fd(ends[1]);
    ::fcntl(ends[0], F_SETFL, O_NONBLOCK);
    streams_.push_back(std::make_unique<Stream>(
        Stream{Fd(ends[0]), target, LinePrefixer(fmt::format("[{}] ", rank))}));
  }
  spec.out = writers[0].get();
  spec.err = writers[1].get();
  return start_child(spec);
}

void Launcher::watch() {
  while (living() > 0) step();
  // What a rank started and left behind must neither outlive the job nor hold its pipes open.
  kill_descendants();
  drain();
}

void Launcher::step() {
  std::vector<pollfd> fds{{signals_.get(), POLLIN, 0}};
  for (const auto& stream : streams_) fds.push_back({stream->pipe.get(), POLLIN, 0});
  constexpr milliseconds kLongest{60'000};
  ::poll(fds.data(), fds.size(), timeout_.earlier(kill_at_).poll_timeout(kLongest));
  // Output first: a rank's last words come before the report of its end.
  for (std::size_t i = 1; i < fds.size(); ++i) {
    if (fds[i].revents != 0) pump(*streams_[i - 1]);
  }
  std::erase_if(streams_, [](const auto& stream) { return !stream->pipe; });
  signalfd_siginfo signal{};
  while (::read(signals_.get(), &signal, sizeof signal) == static_cast<ssize_t>(sizeof signal)) {
    on_signal(signal);
  }
  check_deadlines();
}

void Launcher::on_signal(const signalfd_siginfo& signal) {
  const int number = static_cast<int>(signal.ssi_signo);
  if (number == SIGCHLD) {
    reap();
    return;
  }
  // The terminal sends its signals to the whole process group: the ranks have this one already.
  const bool from_terminal = signal.ssi_code == SI_KERNEL;
  if (asks_to_end(number) && interrupted_) {
    say("asked to end again: killing the ranks");
    stop_ranks(SIGKILL);
    return;
  }
  interrupted_ = interrupted_ || asks_to_end(number);
  if (!from_terminal) forward(number);
}

void Launcher::reap() {
  std::vector<End> ends;
  int status = 0;
  for (pid_t pid = 0; (pid = ::waitpid(-1, &status, WNOHANG)) > 0;) {
    const auto found = std::find_if(ranks_.begin(), ranks_.end(), [pid](const Rank& rank) {
      return rank.alive && rank.pid == pid;
    });
    if (found == ranks_.end()) continue;  // an adopted grandchild
    found->alive = false;
    ends.push_back({static_cast<int>(found - ranks_.begin()), status});
  }
  // The kernel does not tell who ended first. Of several found at once, one ended by a signal is
  // the likelier cause; the others exited because they noticed.
  std::stable_partition(ends.begin(), ends.end(),
                        [](const End& end) { return WIFSIGNALED(end.status); });
  for (const End& end : ends) on_end(end);
}

void Launcher::on_end(const End& end) {
  if (end.status == 0) return;
  if (exit_status_ && !options_.keep_going) return;  // it was told to end
  say(fmt::format("rank {} (pid {}) {}", end.rank, ranks_[static_cast<std::size_t>(end.rank)].pid,
                  describe_end(end.status)));
  fail(exit_status_of(end.status));
}

void Launcher::fail(int exit_status) {
  if (!exit_status_) exit_status_ = exit_status;
  if (options_.keep_going || living() == 0) return;
  say(fmt::format("ending the {} other rank{}", living(), living() == 1 ? "" : "s"));
  stop_ranks(SIGTERM);
}

void Launcher::forward(int signal) {
  for (const Rank& rank : ranks_) {
    if (rank.alive) ::kill(rank.pid, signal);
  }
}

void Launcher::stop_ranks(int signal) {
  forward(signal);
  if (signal == SIGTERM) {
    // A stopped rank sees SIGTERM only when it runs again.
    forward(SIGCONT);
    kill_at_ = kill_at_.earlier(Deadline::after(options_.grace));
  }
}

void Launcher::check_deadlines() {
  if (kill_at_.expired()) {
    kill_at_ = Deadline::never();
    if (living() > 0) say(fmt::format("{} did not end in time: killing", living()));
    stop_ranks(SIGKILL);
  }
  if (timeout_.expired()) {
    timeout_ = Deadline::never();
    std::string who;
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      if (ranks_[rank].alive) who += fmt::format("{}{}", who.empty() ? "" : ", ", rank);
    }
    say(fmt::format("timed out after {} s; still running: rank {}",
                    static_cast<double>(options_.timeout.count()) / 1000, who));
    if (!exit_status_) exit_status_ = kTimedOut;
    stop_ranks(SIGTERM);
  }
}

bool Launcher::pump(Stream& stream) {
  std::array<char, 65536> bytes;
  const ssize_t got = ::read(stream.pipe.get(), bytes.data(), bytes.size());
  if (got > 0) {
    emit(stream.target, stream.lines.feed({bytes.data(), static_cast<std::size_t>(got)}));
    return true;
  }
  if (got < 0 && (errno == EAGAIN || errno == EINTR)) return false;
  emit(stream.target, stream.lines.finish());
  stream.pipe.reset();
  return false;
}

void Launcher::drain() {
  for (const auto& stream : streams_) {
    while (stream->pipe && pump(*stream)) {
    }
    emit(stream->target, stream->lines.finish());
  }
}

void Launcher::emit(int target, const std::string& text) {
  if (text.empty() || reader_gone_ || write_all(target, text)) return;
  reader_gone_ = true;
  if (!exit_status_) exit_status_ = 128 + SIGPIPE;
  stop_ranks(SIGTERM);
}

int Launcher::living() const {
  return static_cast<int>(
      std::count_if(ranks_.begin(), ranks_.end(), [](const Rank& rank) { return rank.alive; }));
}

}  // namespace gyre::tools
