// What an earlier job left behind, dead or half alive: a new job at the same place works or fails
// fast, and never meets a rank of the old one.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

// GYRE_INIT_TIMEOUT of the jobs that may fail, and what the verdict may take on top.
constexpr milliseconds kInitBound{6000};

std::string free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  EXPECT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  ::close(fd);
  return std::to_string(ntohs(address.sin_port));
}

class Ghosts : public testing::TestWithParam<Place> {
 protected:
  Environment job(const std::string& name) const {
    return GetParam().environment() + Environment{{"NCCL_COMM_ID", "127.0.0.1:" + port_},
                                                  {"GYRE_JOB_ID", name},
                                                  {"GYRE_INIT_TIMEOUT", "3"}};
  }
  static void expect_works(Ranks& ranks) {
    ranks.expect_success(ranks.all(), "all_reduce 100000");
    ranks.expect_success(ranks.all(), "all_reduce 10");
  }

  TestLimit limit_;
  std::string port_ = free_port();
};

TEST_P(Ghosts, ThePortOfAJobThatJustEnded) {
  for (int run = 0; run < 3; ++run) {
    Ranks ranks(3, job("same"));
    ranks.expect_success(ranks.all(), "init_fixed");
    expect_works(ranks);
    ranks.expect_success(ranks.all(), "destroy");
    ranks.tell(ranks.all(), "quit", "quit");
    for (const int rank : ranks.all()) EXPECT_EQ(ranks[rank].wait_exit(), 0);
  }
}

TEST_P(Ghosts, ThePortOfAJobThatWasKilled) {
  for (int run = 0; run < 3; ++run) {
    Ranks ranks(3, job("same"));
    ranks.expect_success(ranks.all(), "init_fixed");
    expect_works(ranks);
    for (const int rank : ranks.all()) ranks[rank].kill();
  }
}

TEST_P(Ghosts, TwoCommunicatorsOfOneJobAtOnePort) {
  Ranks ranks(3, job("one"));
  ranks.expect_success(ranks.all(), "init_fixed");
  ranks.expect_success(ranks.all(), "init_fixed");
  expect_works(ranks);
  ranks.expect_success(ranks.all(), "destroy");
  expect_works(ranks);
}

// Job 1's rank 0 is stopped, perhaps with the port; its others are dead.
TEST_P(Ghosts, AStoppedRankZero) {
  Ranks old(3, job("old"));
  old.expect_success(old.all(), "init_fixed");
  old[1].kill();
  old[2].kill();
  old[0].stop();
  Ranks ranks(3, job("new"));
  const std::vector<Report> reports = ranks.ask(ranks.all(), "init_fixed");
  const bool works = reports[0].code == 0;
  for (const Report& report : reports) {
    EXPECT_EQ(report.code == 0, works) << report.text;
    EXPECT_LT(report.took, kInitBound) << report.text;
  }
  if (works) expect_works(ranks);
  old[0].resume();
  if (works) expect_works(ranks);
  const Report ghost = old[0].ask("all_reduce 100");
  EXPECT_EQ(ghost.code, kRemoteError) << ghost.text;
}

// Job 1's rank 0 waits in its init for ranks that died; the port is taken.
TEST_P(Ghosts, ARankZeroThatStillWaits) {
  Ranks old(2, job("old"));
  old[0].tell("init", "&init_fixed");
  old.expect_success({0}, "await_listening " + port_);
  Ranks ranks(2, job("new"));
  for (const Report& report : ranks.ask(ranks.all(), "init_fixed")) {
    EXPECT_NE(report.code, 0);
    EXPECT_LT(report.took, kInitBound) << report.text;
  }
  EXPECT_NE(old[0].report("init").code, 0);
}

// Job 1's rank 1 still looks for its rank 0 when job 2 begins to listen there.
TEST_P(Ghosts, ARankThatStillDials) {
  Ranks old(3, job("old"));
  old.tell({1, 2}, "init", "init_fixed");
  Ranks ranks(3, job("new"));
  ranks.expect_success(ranks.all(), "init_fixed");
  expect_works(ranks);
  for (const int ghost : {1, 2}) {
    const Report report = old[ghost].report("init");
    EXPECT_NE(report.code, 0);
    EXPECT_LT(report.took, kInitBound) << report.text;
  }
  expect_works(ranks);
}

// Job 1 left its rendezvous file when it was killed.
TEST_P(Ghosts, ALeftOverIdFile) {
  std::string folder = (std::filesystem::temp_directory_path() / "gyre-ghost-XXXXXX").string();
  ASSERT_NE(::mkdtemp(folder.data()), nullptr);
  std::vector<Environment> environments;
  for (int rank = 0; rank < 3; ++rank) {
    environments.push_back(GetParam().environment() +
                           Environment{{"RANK", std::to_string(rank)}, {"WORLD_SIZE", "3"}});
  }
  for (int run = 0; run < 3; ++run) {
    Ranks ranks(environments);
    ranks.expect_success(ranks.all(), "join file://" + folder);
    expect_works(ranks);
    for (const int rank : ranks.all()) ranks[rank].kill();
  }
  std::filesystem::remove_all(folder);
}

GYRE_EVERYWHERE(Ghosts);

}  // namespace
}  // namespace gyre::test
