// Two network namespaces joined by one good link, among several that lead nowhere: init must find
// the good one, and must never offer loopback to the other side.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "bootstrap/interfaces.hpp"
#include "bootstrap/rendezvous.hpp"
#include "tests/unit/bootstrap_processes.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::Processes;
using test::Signal;

constexpr int kSkipped = 77;

bool shell(const std::string& command) { return std::system(command.c_str()) == 0; }

// Enters a new network namespace; needs root, or user namespaces.
bool enter_namespace(bool with_user) {
  return ::unshare(CLONE_NEWNET | (with_user ? CLONE_NEWUSER : 0)) == 0;
}

struct Addresses {
  const char* here;
  const char* there;
  const char* options;
};

// This side's devices: the traps, and one end of the good link.
bool set_up_link(pid_t other, const Addresses& addresses) {
  const std::string commands = fmt::format(
      "exec 2>/dev/null; ip link set lo up && "
      "ip link add trap0 type bridge && ip addr add 198.51.100.1/24 dev trap0 && "
      "ip link set trap0 up && "
      "ip link add trap1 type veth peer name trap2 && ip addr add 198.51.101.1/24 dev trap1 && "
      "ip link add good0 type veth peer name good1 netns {} && "
      "ip addr add {} dev good0 {} && ip link set good0 up",
      other, addresses.here, addresses.options);
  return shell(commands);
}

bool set_up_other_end(const Addresses& addresses) {
  return shell(
      fmt::format("exec 2>/dev/null; ip link set lo up && ip addr add {} dev good1 {} && "
                  "ip link set good1 up",
                  addresses.there, addresses.options));
}

std::string run_rank(int rank, const UniqueId& id) {
  const auto own = local_endpoint();
  if (!own) return own.error().text;
  const auto all =
      rendezvous(id, rank, 2, encode(*own), Deadline::after(milliseconds(10'000)), nullptr);
  if (!all) return all.error().text;
  const auto peer = decode_endpoint((*all)[rank == 0 ? 1 : 0]);
  if (!peer) return peer.error().text;
  if (peer->network == own->network) return "the namespaces look like one";
  for (const Address& address : reachable(*peer)) {
    if (address.is_loopback()) return "loopback is offered across namespaces";
  }
  return "";
}

// Runs as a process of its own: rank 0 here, rank 1 in a child with another namespace.
int two_namespaces(const Addresses& addresses) {
  if (!enter_namespace(::geteuid() != 0)) return kSkipped;
  const Signal entered;
  const Signal linked;
  const Signal up;
  std::array<int, 2> channel{};
  if (::pipe(channel.data()) != 0) return 1;
  const pid_t other = ::fork();
  if (other == 0) {
    if (!enter_namespace(false)) ::_exit(kSkipped);
    entered.raise();
    if (!linked.wait() || !set_up_other_end(addresses)) ::_exit(kSkipped);
    up.raise();
    UniqueId id;
    if (::read(channel[0], id.bytes.data(), id.bytes.size()) != ssize_t{sizeof id}) ::_exit(1);
    const std::string problem = run_rank(1, id);
    if (!problem.empty()) std::fprintf(stderr, "rank 1: %s\n", problem.c_str());
    ::_exit(problem.empty() ? 0 : 1);
  }
  int result = kSkipped;
  const bool linked_here = entered.wait() && set_up_link(other, addresses);
  if (linked_here) linked.raise();
  // The kernel tells of a new carrier a moment later.
  const auto carrier = [] { return shell("ip link show good0 | grep -q LOWER_UP"); };
  if (linked_here && up.wait() && test::eventually(carrier)) {
    const auto id = create_unique_id();
    std::string problem = id ? "" : id.error().text;
    if (id) {
      [[maybe_unused]] const auto sent = ::write(channel[1], id->bytes.data(), sizeof *id);
      problem = run_rank(0, *id);
    }
    if (!problem.empty()) std::fprintf(stderr, "rank 0: %s\n", problem.c_str());
    result = problem.empty() ? 0 : 1;
  } else {
    ::kill(other, SIGKILL);
  }
  int status = 0;
  ::waitpid(other, &status, 0);
  if (result == 0 && !(WIFEXITED(status) && WEXITSTATUS(status) == 0)) result = 1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == kSkipped) result = kSkipped;
  return result;
}

void meet_across(const Addresses& addresses) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(two_namespaces(addresses));
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kSkipped) {
    GTEST_SKIP() << "needs the right to make network namespaces and veth links, and ip(8)";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(Namespaces, OverIpv4) { meet_across({"203.0.113.1/24", "203.0.113.2/24", ""}); }
TEST(Namespaces, OverIpv6) { meet_across({"2001:db8:7::1/64", "2001:db8:7::2/64", "nodad"}); }
// Only the kernel's own fe80:: addresses on the good link.
TEST(Namespaces, OverLinkLocalAlone) { meet_across({"fe80::1:1/64", "fe80::1:2/64", "nodad"}); }

}  // namespace
}  // namespace gyre
