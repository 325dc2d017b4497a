// The bootstrap among real processes: launchers' variables, URLs, death, forks, ports.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "base/process.hpp"
#include "bootstrap/dial.hpp"
#include "bootstrap/id_file.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/world.hpp"
#include "tests/unit/bootstrap_processes.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::bytes_of;
using test::eventually;
using test::free_port;
using test::Processes;
using test::Recorder;
using test::seconds_since;
using test::Signal;

WorldOptions patient() {
  WorldOptions options;
  options.timeout = milliseconds(20'000);
  return options;
}

// Joins, uses every call, and leaves.
std::string use_world(const std::string& url, int rank, int world) {
  auto joined = World::join(url, patient());
  if (!joined) return joined.error().text;
  World& group = **joined;
  if (group.rank() != rank || group.size() != world) return "wrong rank or size";
  if (group.local_rank() != rank || group.local_size() != world) return "wrong local rank or size";
  const auto all = group.all_gather(bytes_of(fmt::format("rank {}", rank)));
  if (!all) return all.error().text;
  for (int other = 0; other < world; ++other) {
    if (test::text_of((*all)[static_cast<std::size_t>(other)]) != fmt::format("rank {}", other)) {
      return "wrong part";
    }
  }
  auto bytes = bytes_of(rank == world - 1 ? "from the last" : "overwritten");
  if (auto sent = group.broadcast(bytes, world - 1); !sent) return sent.error().text;
  if (test::text_of(bytes) != "from the last") return "wrong broadcast";
  if (auto met = group.barrier(); !met) return met.error().text;
  const auto id = group.make_unique_id();
  if (!id) return id.error().text;
  const auto facts =
      rendezvous(*id, rank, world, bytes_of("x"), Deadline::after(milliseconds(20'000)), nullptr);
  return facts ? "" : facts.error().text;
}

void clear_launchers() {
  for (const char* name : {"RANK", "WORLD_SIZE", "LOCAL_RANK", "MASTER_ADDR", "MASTER_PORT",
                           "OMPI_COMM_WORLD_RANK", "PMI_RANK", "SLURM_PROCID", "GYRE_JOB_ID"}) {
    ::unsetenv(name);
  }
}

void set(const char* name, int value) { ::setenv(name, std::to_string(value).c_str(), 1); }

class WorldTest : public testing::Test {
 protected:
  void SetUp() override {
    clear_launchers();
    folder_ = (std::filesystem::temp_directory_path() / "gyre-world-XXXXXX").string();
    ASSERT_NE(::mkdtemp(folder_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file_url(int rank, int world) const {
    return fmt::format("file://{}?rank={}&world={}", folder_, rank, world);
  }
  std::string folder_;
};

TEST_F(WorldTest, AloneWithoutALauncher) {
  Processes processes;
  processes.start([] { return use_world("env://", 0, 1); });
  processes.expect_success();
}

TEST_F(WorldTest, TorchrunsVariables) {
  const std::uint16_t port = free_port();
  Processes processes;
  processes.start_ranks(4, [&](int rank) {
    set("RANK", rank);
    set("WORLD_SIZE", 4);
    set("LOCAL_RANK", rank);
    ::setenv("MASTER_ADDR", "localhost", 1);
    set("MASTER_PORT", port);
    return use_world("env://", rank, 4);
  });
  processes.expect_success();
}

TEST_F(WorldTest, OpenMpisVariables) {
  Processes processes;
  processes.start_ranks(3, [&](int rank) {
    set("OMPI_COMM_WORLD_RANK", rank);
    set("OMPI_COMM_WORLD_SIZE", 3);
    set("OMPI_COMM_WORLD_LOCAL_SIZE", 3);
    ::setenv("PMIX_NAMESPACE", folder_.c_str(), 1);
    return use_world("env://", rank, 3);
  });
  processes.expect_success();
}

TEST_F(WorldTest, MpichsVariables) {
  // The ranks' common parent names the run, as Hydra's proxy does.
  Processes processes;
  processes.start_ranks(3, [&](int rank) {
    set("PMI_RANK", rank);
    set("PMI_SIZE", 3);
    set("MPI_LOCALRANKID", rank);
    set("MPI_LOCALNRANKS", 3);
    return use_world("env://", rank, 3);
  });
  processes.expect_success();
}

TEST_F(WorldTest, ALauncherThatDoesNotSayWhereIsAnErrorWithARemedy) {
  Processes processes;
  processes.start([] {
    set("RANK", 0);
    set("WORLD_SIZE", 2);
    const auto world = World::join("env://", patient());
    if (world) return std::string("joined");
    return world.error().text.find("MASTER_ADDR") != std::string::npos ? "" : world.error().text;
  });
  processes.expect_success();
}

TEST_F(WorldTest, TcpUrls) {
  const std::uint16_t port = free_port();
  Processes processes;
  processes.start_ranks(4, [&](int rank) {
    return use_world(fmt::format("tcp://127.0.0.1:{}?rank={}&world=4", port, rank), rank, 4);
  });
  processes.expect_success();
}

TEST_F(WorldTest, TheSamePortAgainAndAgain) {
  const std::uint16_t port = free_port();
  for (int round = 0; round < 3; ++round) {
    Processes processes;
    processes.start_ranks(3, [&](int rank) {
      const auto url = fmt::format("tcp://127.0.0.1:{}?rank={}&world=3", port, rank);
      // Also twice in one process.
      const std::string first = use_world(url, rank, 3);
      return first.empty() ? use_world(url, rank, 3) : first;
    });
    processes.expect_success();
  }
}

TEST_F(WorldTest, APortThatIsTakenFailsFast) {
  const std::uint16_t port = free_port();
  const Signal listening;
  const Signal finished;
  Processes processes;
  processes.start([&] {
    const auto taken = Listener::instance().also_listen_on(Address::any(AF_INET6).with_port(port));
    listening.raise();
    return taken && finished.wait() ? std::string() : "could not listen";
  });
  ASSERT_TRUE(listening.wait());
  processes.start([&]() -> std::string {
    const auto start = Clock::now();
    const auto world =
        World::join(fmt::format("tcp://127.0.0.1:{}?rank=0&world=2", port), patient());
    finished.raise();
    if (world) return "joined";
    if (seconds_since(start) > 5) return "too slow";
    return world.error().text.find("in use") != std::string::npos ? "" : world.error().text;
  });
  processes.expect_success();
}

TEST_F(WorldTest, OtherJobsAtTheSamePortAreNotMixedUp) {
  const std::uint16_t port = free_port();
  const Signal waiting;
  const Signal finished;
  Processes processes;
  const std::string url = fmt::format("tcp://127.0.0.1:{}?world=2&rank=", port);
  processes.start([&]() -> std::string {
    // Job 1's rank 0 waits for a rank 1 that never comes.
    ::setenv("GYRE_JOB_ID", "1", 1);
    WorldOptions options;
    options.timeout = milliseconds(1'500);
    waiting.raise();
    const auto world = World::join(url + "0", options);
    if (world) return "job 1 met job 2";
    return world.error().text.find("rank 1 of 2") != std::string::npos ? "" : world.error().text;
  });
  ASSERT_TRUE(waiting.wait());
  processes.start([&]() -> std::string {
    ::setenv("GYRE_JOB_ID", "2", 1);
    WorldOptions options;
    options.timeout = milliseconds(3'000);
    return World::join(url + "1", options) ? "job 2 met job 1" : "";
  });
  processes.expect_success();
}

TEST_F(WorldTest, FileUrls) {
  Processes processes;
  processes.start_ranks(4, [&](int rank) { return use_world(file_url(rank, 4), rank, 4); });
  processes.expect_success();
  EXPECT_TRUE(std::filesystem::is_empty(folder_));
}

TEST_F(WorldTest, AStaleIdFileIsNoTrap) {
  {
    // A run whose root died before anybody came.
    Processes ghosts;
    ghosts.start([&]() -> std::string {
      const auto id = create_unique_id();
      if (!id) return id.error().text;
      const auto written = write_id_file(id_file_path(folder_, ""), *id);
      return written ? "" : written.error().text;
    });
    ghosts.expect_success();
  }
  ASSERT_FALSE(std::filesystem::is_empty(folder_));
  const Signal others_started;
  Processes processes;
  for (const int rank : {1, 2}) {
    processes.start([&, rank] {
      others_started.raise();
      return use_world(file_url(rank, 3), rank, 3);
    });
  }
  ASSERT_TRUE(others_started.wait(2));
  processes.start([&] { return use_world(file_url(0, 3), 0, 3); });
  processes.expect_success();
}

TEST_F(WorldTest, AnIdFileOfALivingButFailedRunIsNoTrap) {
  const Signal written;
  const Signal finished;
  Processes processes;
  processes.start([&]() -> std::string {
    const auto id = create_unique_id();
    if (!id) return id.error().text;
    const Error failure{Status::system, "job 1 failed"};
    const auto reported = report_failure(*id, 2, 3, failure, Deadline::after(milliseconds(5'000)));
    if (!reported || !write_id_file(id_file_path(folder_, ""), *id)) return "setup failed";
    written.raise();
    return finished.wait() ? "" : "not finished";
  });
  ASSERT_TRUE(written.wait());
  const Signal done;
  for (const int rank : {1, 0}) {
    processes.start([&, rank] {
      const auto problem = use_world(file_url(rank, 2), rank, 2);
      done.raise();
      return problem;
    });
  }
  EXPECT_TRUE(done.wait(2));
  finished.raise();
  processes.expect_success();
}

TEST_F(WorldTest, MissingRanksAreNamed) {
  Processes processes;
  for (const int rank : {0, 2}) {
    processes.start([&, rank]() -> std::string {
      WorldOptions options;
      options.timeout = milliseconds(1'000);
      const auto world = World::join(file_url(rank, 4), options);
      if (world) return "joined";
      return world.error().text.find("ranks 1, 3 of 4") != std::string::npos ? ""
                                                                             : world.error().text;
    });
  }
  processes.expect_success();
}

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

TEST_F(WorldTest, AKilledRankIsNamedAtOnce) { kill_one(2); }
TEST_F(WorldTest, AKilledHubIsNamedAtOnce) { kill_one(0); }

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

TEST_F(WorldTest, AStoppedRankDoesNotAnswer) { stop_one(2); }
TEST_F(WorldTest, AStoppedHubIsNamed) { stop_one(0); }

TEST_F(WorldTest, ForkedChildrenDoNoHarm) {
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

TEST_F(WorldTest, AForkedChildDoesNotHideADeath) {
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

TEST_F(WorldTest, ThePortRangeIsKept) {
  const std::uint16_t first = free_port();
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

TEST_F(WorldTest, TooFewDescriptorsIsAnErrorWithTheNumber) {
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

}  // namespace
}  // namespace gyre
