// The parent side of the fault tests: starts ranks as processes of this same program, tells them
// what to do, kills and stops them, and reads their reports. Never touches the library itself.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace gyre::test {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

using Environment = std::vector<std::pair<std::string, std::string>>;

// How long a test waits for anything at all; a report that is later is a hang.
inline constexpr milliseconds kHang{20'000};

struct Report {
  int code = -1;  // -1: none came
  milliseconds took{0};
  Clock::time_point at{};
  std::string text;
};

class Rank {
 public:
  Rank(int rank, int world, const Environment& environment);
  ~Rank();
  Rank(const Rank&) = delete;
  Rank& operator=(const Rank&) = delete;

  pid_t pid() const { return pid_; }

  // Starts a command; its report is fetched by report() with the same tag.
  void tell(const std::string& tag, const std::string& command);
  Report report(const std::string& tag, milliseconds limit = kHang);
  // Both.
  Report ask(const std::string& command, milliseconds limit = kHang);

  // Kills it and waits until it is gone; when the signal was sent.
  Clock::time_point kill();
  // Returns when it has stopped.
  void stop();
  void resume();
  // Waits for its end; the exit status, or -1 if it did not end by itself.
  int wait_exit(milliseconds limit = kHang);

 private:
  bool read_reports(Clock::time_point until);

  pid_t pid_ = -1;
  int commands_ = -1;
  int reports_ = -1;
  int next_tag_ = 0;
  std::string unread_;
  std::map<std::string, std::deque<Report>> arrived_;
};

class Ranks {
 public:
  Ranks(int world, const Environment& environment);
  // `environments[r]` for rank r.
  explicit Ranks(const std::vector<Environment>& environments);

  int world() const { return static_cast<int>(ranks_.size()); }
  Rank& operator[](int rank) { return *ranks_[static_cast<std::size_t>(rank)]; }
  std::vector<int> all() const;
  std::vector<int> without(const std::vector<int>& left_out) const;

  // The same command on many ranks at once; reports in their order.
  std::vector<Report> ask(const std::vector<int>& ranks, const std::string& command,
                          milliseconds limit = kHang);
  void tell(const std::vector<int>& ranks, const std::string& tag, const std::string& command);
  // Fails the test unless every rank reports success.
  void expect_success(const std::vector<int>& ranks, const std::string& command,
                      milliseconds limit = kHang);
  // A communicator of all ranks; rank 0 makes the id.
  void init();
  std::string make_id();

 private:
  std::vector<std::unique_ptr<Rank>> ranks_;
};

// Where the tests' parameters put the data.
const Environment& shared_memory();
const Environment& tcp();

Environment operator+(Environment left, const Environment& right);

// Ends the whole program if a test takes longer than a minute.
class TestLimit {
 public:
  TestLimit();
  ~TestLimit();
};

}  // namespace gyre::test
