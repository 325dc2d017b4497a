// Joining a world from real processes: launchers' variables, URLs, ids of earlier runs.
#include "tests/unit/bootstrap_world.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <string>
#include <thread>

#include "bootstrap/id_file.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/world.hpp"
#include "tests/unit/bootstrap_processes.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::bytes_of;
using test::free_port;
using test::patient;
using test::Processes;
using test::seconds_since;
using test::Signal;

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
    for (const char* word : {"in use", "rank 0", "MASTER_PORT", "NCCL_COMM_ID"}) {
      if (world.error().text.find(word) == std::string::npos) return world.error().text;
    }
    return "";
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

TEST_F(WorldTest, ARankThatDiesAtAFileEndsTheOthersToo) {
  const Signal joining;
  Processes processes;
  for (const int rank : {0, 1}) {
    processes.start([&, rank]() -> std::string {
      joining.raise();
      const auto start = Clock::now();
      const auto world = World::join(file_url(rank, 4), patient());
      if (world) return "joined";
      if (seconds_since(start) > 10) return "waited for nothing: " + world.error().text;
      return world.error().text.find("rank 2") != std::string::npos ? "" : world.error().text;
    });
  }
  // Joins and dies; rank 3 never comes.
  processes.start([&]() -> std::string {
    std::thread([] {
      std::this_thread::sleep_for(milliseconds(1'500));
      ::_exit(0);
    }).detach();
    (void)World::join(file_url(2, 4), patient());
    return "still alive";
  });
  ASSERT_TRUE(joining.wait(2));
  processes.expect_success();
}

TEST_F(WorldTest, AHostThatIsNotKnownYetIsLookedUpAgain) {
  Processes processes;
  processes.start([&]() -> std::string {
    WorldOptions options;
    options.timeout = milliseconds(1'500);
    const auto start = Clock::now();
    const auto world = World::join("tcp://nosuch.invalid:4000?rank=1&world=2", options);
    if (world) return "joined";
    if (seconds_since(start) < 1) return "gave up at once";
    for (const char* word : {"nosuch.invalid", "NCCL_COMM_ID", "MASTER_ADDR"}) {
      if (world.error().text.find(word) == std::string::npos) return world.error().text;
    }
    return "";
  });
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

}  // namespace
}  // namespace gyre
