// The bootstrap in real processes that die, stop, fork, and run short of ports and descriptors.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <string>

#include "base/contain.hpp"
#include "bootstrap/listener.hpp"
#include "tests/unit/bootstrap_processes.hpp"
#include "tests/unit/bootstrap_threads.hpp"
#include "tests/unit/bootstrap_world.hpp"

namespace gyre {
namespace {

using test::free_port;
using test::free_ports;
using test::patient;
using test::Processes;
using test::Recorder;
using test::seconds_since;
using test::Signal;

// Kills one rank while the others wait for it in an all-gather.
void kill_one(int victim) {
  constexpr int kWorld = 4;
  const std::uint16_t port = free_port();
  const Signal joined;
  Processes processes;
  processes.start_ranks(kWorld, [&](int rank) -> std::string {
    const auto url = fmt::format("tcp://127.0.0.1:{}?rank={}&world={}", port, rank, kWorld);
    auto world = World::join(url, patient());
    if (!world) return world.error().text;
    if (auto met = (*world)->barrier(); !met) return met.error().text;
    joined.raise();
    if (rank == victim) ::pause();
    const auto start = Clock::now();
    const auto all = (*world)->all_gather({});
    if (all) return "gathered from a dead rank";
    if (seconds_since(start) > 10) return "not told in time";
    if (all.status() != Status::peer_lost) return all.error().text;
    return all.error().text.find(fmt::format("rank {}", victim)) != std::string::npos
               ? ""
               : all.error().text;
  });
  ASSERT_TRUE(joined.wait(kWorld));
  const auto start = Clock::now();
  processes.kill(static_cast<std::size_t>(victim), SIGKILL);
  processes.expect_success({static_cast<std::size_t>(victim)});
  EXPECT_LT(seconds_since(start), test::allowed(2.0));
}

TEST(Lives, AKilledRankIsNamedAtOnce) { kill_one(2); }
TEST(Lives, AKilledHubIsNamedAtOnce) { kill_one(0); }

// A stopped rank does not answer, but is not lost either.
void stop_one(int victim) {
  constexpr int kWorld = 3;
  const std::uint16_t port = free_port();
  const Signal opened;
  const Signal stopped;
  const Signal asked;
  Processes processes;
  processes.start_ranks(kWorld, [&](int rank) -> std::string {
    Recorder recorder;
    recorder.counts = {static_cast<std::uint64_t>(rank) + 1, static_cast<std::uint64_t>(rank)};
    auto control = test::open_control(port, rank, kWorld, &recorder);
    if (!control) return control.error().text;
    const auto gather = [&] {
      return (*control)->all_gather({}, "step", Deadline::after(milliseconds(20'000)), nullptr);
    };
    if (auto first = gather(); !first) return first.error().text;
    opened.raise();
    if (rank == 1) {
      if (!stopped.wait()) return "nobody was stopped";
      const auto start = Clock::now();
      const auto progress = (*control)->ask_progress(milliseconds(500), nullptr);
      asked.raise();
      if (seconds_since(start) > 2) return "asking took too long";
      if (victim == 0) {
        const bool named = !progress && progress.error().text.find("rank 0") != std::string::npos;
        if (!named) return "the stopped hub is not named";
      } else {
        if (!progress) return progress.error().text;
        if ((*progress)[2].answered || !(*progress)[0].answered || !(*progress)[1].answered) {
          return "wrong ranks answered";
        }
        if ((*progress)[0].entered != 1 || (*progress)[1].entered != 2) return "wrong counts";
      }
    }
    // After SIGCONT everything goes on.
    if (auto second = gather(); !second) return second.error().text;
    if (!recorder.losses().empty()) return "a stopped rank was taken for lost";
    (*control)->goodbye();
    return "";
  });
  ASSERT_TRUE(opened.wait(kWorld));
  processes.stop(static_cast<std::size_t>(victim));
  stopped.raise();
  EXPECT_TRUE(asked.wait());
  processes.kill(static_cast<std::size_t>(victim), SIGCONT);
  processes.expect_success();
}

TEST(Lives, AStoppedRankDoesNotAnswer) { stop_one(2); }
TEST(Lives, AStoppedHubIsNamed) { stop_one(0); }

TEST(Lives, ForkedChildrenDoNoHarm) {
  const std::uint16_t port = free_port();
  Processes processes;
  processes.start_ranks(2, [&](int rank) -> std::string {
    auto world =
        World::join(fmt::format("tcp://127.0.0.1:{}?rank={}&world=2", port, rank), patient());
    if (!world) return world.error().text;
    for (int kind = 0; kind < 4; ++kind) {
      const pid_t child = ::fork();
      if (child == 0) {
        if (kind == 0) ::_exit(0);
        if (kind == 1) ::exit(0);  // exit handlers run
        if (kind == 2) ::execl("/bin/true", "true", static_cast<char*>(nullptr));
        // Every entry refuses, and destruction of what the parent made is harmless.
        const bool refused = World::join("env://").status() == Status::invalid_usage &&
                             create_unique_id().status() == Status::invalid_usage &&
                             (*world)->barrier().status() == Status::invalid_usage;
        world->reset();
        ::exit(refused ? 0 : 1);
      }
      int status = 0;
      ::waitpid(child, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return fmt::format("child {}", kind);
      if (auto met = (*world)->barrier(); !met) return met.error().text;
    }
    return "";
  });
  processes.expect_success();
}

TEST(Lives, AForkedChildDoesNotHideADeath) {
  const std::uint16_t port = free_port();
  const Signal ready;
  const Signal release;
  Processes processes;
  processes.start_ranks(2, [&](int rank) -> std::string {
    auto world =
        World::join(fmt::format("tcp://127.0.0.1:{}?rank={}&world=2", port, rank), patient());
    if (!world) return world.error().text;
    if (rank == 1) {
      // Like a data loader, which outlives its parent.
      if (::fork() == 0) {
        ready.raise();
        release.wait();
        ::_exit(0);
      }
      ::pause();
    }
    const auto met = (*world)->barrier();
    release.raise();
    return !met && met.status() == Status::peer_lost ? "" : "the death was hidden";
  });
  ASSERT_TRUE(ready.wait());
  processes.kill(1, SIGKILL);
  processes.expect_success({1});
}

TEST(Lives, ThePortRangeIsKept) {
  const std::uint16_t first = free_ports(4);
  const int last = first + 3;
  const Signal all_listen;
  const Signal done;
  Processes processes;
  for (int i = 0; i < 5; ++i) {
    processes.start([&]() -> std::string {
      ::setenv("GYRE_PORT_RANGE", fmt::format("{}-{}", first, last).c_str(), 1);
      const auto port = Listener::instance().port();
      all_listen.raise();
      if (!done.wait()) return "not done";
      if (port) return *port >= first && *port <= last ? "" : "outside the range";
      return port.error().text.find("GYRE_PORT_RANGE") != std::string::npos ? "fifth" : "?";
    });
  }
  ASSERT_TRUE(all_listen.wait(5));
  done.raise(5);
  // Four ports for five processes: exactly one has none (unless a stranger took one meanwhile).
  const auto found = processes.wait();
  const auto without = std::count(found.begin(), found.end(), false);
  EXPECT_GE(without, 1);
  EXPECT_LE(without, 2);
}

TEST(Lives, TooFewDescriptorsIsAnErrorWithTheNumber) {
  Processes processes;
  processes.start([&]() -> std::string {
    rlimit limit{64, 64};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    Recorder recorder;
    const auto control = Control::open(random_job_key(), 0, 1000, {}, &recorder,
                                       Deadline::after(milliseconds(1'000)), nullptr);
    if (control) return "opened";
    return control.error().text.find("1016 more file descriptors") != std::string::npos
               ? ""
               : control.error().text;
  });
  // A low soft limit alone is raised.
  const std::uint16_t port = free_port();
  processes.start([&]() -> std::string {
    rlimit limit{64, 4096};
    ::setrlimit(RLIMIT_NOFILE, &limit);
    std::string problems;
    std::mutex mutex;
    test::run_ranks(64, [&](int rank) {
      const auto id = unique_id_for(fmt::format("127.0.0.1:{}", port));
      const auto all =
          id ? rendezvous(*id, rank, 64, {}, Deadline::after(milliseconds(20'000)), nullptr)
             : id.error();
      const std::lock_guard lock(mutex);
      if (!all) problems = all.error().text;
    });
    return problems;
  });
  processes.expect_success();
}

TEST(Lives, TheFirstUseWithoutDescriptorsIsNotTheLast) {
#if defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "that sanitizer checks an exception's type through a pipe, and takes the lack of "
                  "descriptors for a wrong type";
#endif
  Processes processes;
  processes.start([&]() -> std::string {
    ::alarm(20);
    const int next = ::dup(0);
    ::close(next);
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlimit before = limit;
    for (int room = 0; room < 2; ++room) {
      limit.rlim_cur = static_cast<rlim_t>(next + room);
      ::setrlimit(RLIMIT_NOFILE, &limit);
      const auto port = contained("", [] { return Listener::instance().port(); });
      if (port) return "listened";
      if (port.error().text.find("open files") == std::string::npos) return port.error().text;
    }
    ::setrlimit(RLIMIT_NOFILE, &before);
    const auto port = Listener::instance().port();
    return port ? "" : port.error().text;
  });
  processes.expect_success();
}

}  // namespace
}  // namespace gyre
