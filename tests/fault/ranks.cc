#include "tests/fault/ranks.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>

#include "tests/fault/puppet.hpp"

namespace gyre::test {
namespace {

constexpr unsigned kTestSeconds = 60;

bool overridden(const std::string& variable, const Environment& environment) {
  return std::any_of(environment.begin(), environment.end(),
                     [&](const auto& entry) { return variable.starts_with(entry.first + "="); });
}

std::vector<std::string> merged(const Environment& environment) {
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    if (!overridden(*variable, environment)) all.emplace_back(*variable);
  }
  for (const auto& [name, value] : environment) all.push_back(name + "=" + value);
  // An init that hangs is to say so before the test gives up on it.
  if (!overridden("GYRE_INIT_TIMEOUT=", environment)) all.emplace_back("GYRE_INIT_TIMEOUT=15");
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> all;
  for (std::string& word : words) all.push_back(word.data());
  all.push_back(nullptr);
  return all;
}

pid_t spawn(int rank, int world, const Environment& environment, int commands, int reports) {
  std::vector<std::string> words = {"rank", "--puppet", std::to_string(rank),
                                    std::to_string(world)};
  std::vector<std::string> variables = merged(environment);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, commands, kCommandsFd);
  ::posix_spawn_file_actions_adddup2(&actions, reports, kReportsFd);
  // The parent ignores SIGPIPE; a rank is to have it as a user's program does.
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  sigset_t defaults;
  ::sigemptyset(&defaults);
  ::sigaddset(&defaults, SIGPIPE);
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
  pid_t pid = -1;
  const int error = ::posix_spawn(&pid, "/proc/self/exe", &actions, &attributes,
                                  pointers(words).data(), pointers(variables).data());
  ::posix_spawnattr_destroy(&attributes);
  ::posix_spawn_file_actions_destroy(&actions);
  EXPECT_EQ(error, 0);
  return pid;
}

Report parse(const std::string& line, std::string* tag) {
  std::istringstream words(line);
  Report report;
  long long took_us = 0;
  long long at_ns = 0;
  words >> *tag >> report.code >> took_us >> at_ns;
  std::getline(words >> std::ws, report.text);
  report.took = milliseconds(took_us / 1000);
  report.at = Clock::time_point(std::chrono::nanoseconds(at_ns));
  return report;
}

}  // namespace

Rank::Rank(int rank, int world, const Environment& environment) {
  // Above the numbers that the child is to find its ends at, or dup2 would keep close-on-exec.
  const auto raised = [](int fd) {
    const int high = ::fcntl(fd, F_DUPFD_CLOEXEC, 16);
    ::close(fd);
    return high;
  };
  std::array<int, 2> commands{};
  std::array<int, 2> reports{};
  EXPECT_EQ(::pipe2(commands.data(), O_CLOEXEC), 0);
  EXPECT_EQ(::pipe2(reports.data(), O_CLOEXEC), 0);
  const int commands_end = raised(commands[0]);
  const int reports_end = raised(reports[1]);
  commands_ = raised(commands[1]);
  reports_ = raised(reports[0]);
  pid_ = spawn(rank, world, environment, commands_end, reports_end);
  ::close(commands_end);
  ::close(reports_end);
}

Rank::~Rank() {
  kill();
  ::close(commands_);
  ::close(reports_);
}

void Rank::tell(const std::string& tag, const std::string& command) {
  const std::string line = tag + " " + command + "\n";
  EXPECT_EQ(::write(commands_, line.data(), line.size()), static_cast<ssize_t>(line.size()));
}

// Reads what there is, or waits for more; false at the deadline or when the rank is gone.
bool Rank::read_reports(Clock::time_point until) {
  const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
  pollfd entry{reports_, POLLIN, 0};
  if (::poll(&entry, 1, static_cast<int>(std::max<std::int64_t>(left.count(), 0))) != 1) {
    return false;
  }
  std::array<char, 4096> bytes;
  const ssize_t got = ::read(reports_, bytes.data(), bytes.size());
  if (got <= 0) return false;
  unread_.append(bytes.data(), static_cast<std::size_t>(got));
  for (std::size_t end = unread_.find('\n'); end != std::string::npos; end = unread_.find('\n')) {
    std::string tag;
    const Report report = parse(unread_.substr(0, end), &tag);
    arrived_[tag].push_back(report);
    unread_.erase(0, end + 1);
  }
  return true;
}

Report Rank::report(const std::string& tag, milliseconds limit) {
  const Clock::time_point until = Clock::now() + limit;
  std::deque<Report>& queue = arrived_[tag];
  while (queue.empty()) {
    if (read_reports(until)) continue;
    Report none;
    none.text = "no report came: it hangs, or is dead";
    return none;
  }
  Report first = queue.front();
  queue.pop_front();
  return first;
}

Report Rank::ask(const std::string& command, milliseconds limit) {
  const std::string tag = "ask" + std::to_string(next_tag_++);
  tell(tag, command);
  return report(tag, limit);
}

Clock::time_point Rank::kill() {
  const Clock::time_point now = Clock::now();
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = -1;
  }
  return now;
}

void Rank::stop() {
  ::kill(pid_, SIGSTOP);
  int status = 0;
  ::waitpid(pid_, &status, WUNTRACED);
  EXPECT_TRUE(WIFSTOPPED(status));
}

void Rank::resume() { ::kill(pid_, SIGCONT); }

int Rank::wait_exit(milliseconds limit) {
  // The child holds the only writing end: the pipe ends with it.
  const Clock::time_point until = Clock::now() + limit;
  while (read_reports(until)) {
  }
  if (Clock::now() >= until) return -1;
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Ranks::Ranks(int world, const Environment& environment)
    : Ranks(std::vector<Environment>(static_cast<std::size_t>(world), environment)) {}

Ranks::Ranks(const std::vector<Environment>& environments) {
  const int count = static_cast<int>(environments.size());
  for (int rank = 0; rank < count; ++rank) {
    ranks_.push_back(
        std::make_unique<Rank>(rank, count, environments[static_cast<std::size_t>(rank)]));
  }
}

std::vector<int> Ranks::all() const { return without({}); }

std::vector<int> Ranks::without(const std::vector<int>& left_out) const {
  std::vector<int> rest;
  for (int rank = 0; rank < world(); ++rank) {
    if (std::find(left_out.begin(), left_out.end(), rank) == left_out.end()) rest.push_back(rank);
  }
  return rest;
}

std::vector<Report> Ranks::ask(const std::vector<int>& ranks, const std::string& command,
                               milliseconds limit) {
  tell(ranks, "all", command);
  // One limit for all: ranks that hang, hang together.
  const Clock::time_point until = Clock::now() + limit;
  std::vector<Report> reports;
  for (const int rank : ranks) {
    const auto left = std::chrono::ceil<milliseconds>(until - Clock::now());
    reports.push_back((*this)[rank].report("all", std::max(left, milliseconds(0))));
  }
  return reports;
}

void Ranks::tell(const std::vector<int>& ranks, const std::string& tag,
                 const std::string& command) {
  for (const int rank : ranks) (*this)[rank].tell(tag, command);
}

void Ranks::expect_success(const std::vector<int>& ranks, const std::string& command,
                           milliseconds limit) {
  const std::vector<Report> reports = ask(ranks, command, limit);
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    EXPECT_EQ(reports[i].code, 0) << "rank " << ranks[i] << ": " << command << ": "
                                  << reports[i].text;
  }
}

std::string Ranks::make_id() {
  const Report id = (*this)[0].ask("id");
  EXPECT_EQ(id.code, 0) << id.text;
  return id.text;
}

void Ranks::init() { expect_success(all(), "init " + make_id()); }

const Environment& shared_memory() {
  static const Environment environment = {};
  return environment;
}

const Environment& tcp() {
  static const Environment environment = {{"NCCL_SHM_DISABLE", "1"}};
  return environment;
}

Environment operator+(Environment left, const Environment& right) {
  left.insert(left.end(), right.begin(), right.end());
  return left;
}

TestLimit::TestLimit() { ::alarm(kTestSeconds); }
TestLimit::~TestLimit() { ::alarm(0); }

}  // namespace gyre::test
