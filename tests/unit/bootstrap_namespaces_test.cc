// Two network namespaces joined by one good link, among several that lead nowhere: init must find
// the good one, and must never offer loopback to the other side.
#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
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

// What a host calls itself, and what its /etc/hosts says; empty: as on this machine.
struct Names {
  std::string own;
  std::string hosts;
  bool without_ipv6 = false;  // as containers have it
};

struct Scene {
  Addresses addresses;
  Names here = {};
  Names there = {};
  std::string fixed = "";  // "host:port" of rank 0, or else rank 0 makes an id
};

// No interface of this namespace has an IPv6 address from now on; sockets of that kind still open.
bool turn_ipv6_off() {
  return shell(
      "exec 2>/dev/null; for where in all default lo; do "
      "echo 1 >/proc/sys/net/ipv6/conf/$where/disable_ipv6 || exit 1; done");
}

// A host name of our own, and a hosts file under the real one's name for this process alone.
bool take_names(const Names& names) {
  if (names.own.empty()) return true;
  if (names.without_ipv6 && !turn_ipv6_off()) return false;
  if (::unshare(CLONE_NEWNS | CLONE_NEWUTS) != 0) return false;
  if (::sethostname(names.own.c_str(), names.own.size()) != 0) return false;
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  if (::mount("none", "/mnt", "tmpfs", 0, nullptr) != 0) return false;
  std::ofstream("/mnt/hosts") << names.hosts << std::flush;
  return ::mount("/mnt/hosts", "/etc/hosts", nullptr, MS_BIND, nullptr) == 0;
}

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

// The id that this side uses: the one made, or what its own resolver makes of the fixed place.
UniqueId id_for(const Scene& scene, const UniqueId& made) {
  if (scene.fixed.empty()) return made;
  const auto id = unique_id_for(scene.fixed);
  if (!id) std::fprintf(stderr, "%s\n", id.error().text.c_str());
  return id ? *id : UniqueId{};
}

// Runs as a process of its own: rank 0 here, rank 1 in a child with another namespace.
int two_namespaces(const Scene& scene) {
  const Addresses& addresses = scene.addresses;
  if (!enter_namespace(::geteuid() != 0)) return kSkipped;
  const Signal entered;
  const Signal linked;
  const Signal up;
  std::array<int, 2> channel{};
  if (::pipe(channel.data()) != 0) return 1;
  const pid_t other = ::fork();
  if (other == 0) {
    if (!enter_namespace(false) || !take_names(scene.there)) ::_exit(kSkipped);
    entered.raise();
    if (!linked.wait() || !set_up_other_end(addresses)) ::_exit(kSkipped);
    up.raise();
    UniqueId id;
    if (::read(channel[0], id.bytes.data(), id.bytes.size()) != ssize_t{sizeof id}) ::_exit(1);
    const std::string problem = run_rank(1, id_for(scene, id));
    if (!problem.empty()) std::fprintf(stderr, "rank 1: %s\n", problem.c_str());
    ::_exit(problem.empty() ? 0 : 1);
  }
  int result = kSkipped;
  const bool linked_here =
      take_names(scene.here) && entered.wait() && set_up_link(other, addresses);
  if (linked_here) linked.raise();
  // The kernel tells of a new carrier a moment later.
  const auto carrier = [] { return shell("ip link show good0 | grep -q LOWER_UP"); };
  if (linked_here && up.wait() && test::eventually(carrier)) {
    const auto id = create_unique_id();
    std::string problem = id ? "" : id.error().text;
    if (id) {
      [[maybe_unused]] const auto sent = ::write(channel[1], id->bytes.data(), sizeof *id);
      problem = run_rank(0, id_for(scene, *id));
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

void meet_across(const Scene& scene) {
  const pid_t pid = ::fork();
  if (pid == 0) ::_exit(two_namespaces(scene));
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == kSkipped) {
    GTEST_SKIP() << "needs the right to make network namespaces and veth links, and ip(8)";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

constexpr Addresses kIpv4{"203.0.113.1/24", "203.0.113.2/24", ""};
constexpr Addresses kIpv6{"2001:db8:7::1/64", "2001:db8:7::2/64", "nodad"};
// Only the kernel's own fe80:: addresses on the good link.
constexpr Addresses kLinkLocal{"fe80::1:1/64", "fe80::1:2/64", "nodad"};

TEST(Namespaces, OverIpv4) { meet_across({kIpv4}); }
TEST(Namespaces, OverIpv6) { meet_across({kIpv6}); }
TEST(Namespaces, OverLinkLocalAlone) { meet_across({kLinkLocal}); }

// Each host's name stands for loopback on that host, as some systems set it up.
TEST(Namespaces, WhereHostNamesMeanLoopback) {
  meet_across({kIpv4, {"alpha", "127.0.0.1 alpha localhost\n"}, {"beta", "127.0.1.1 beta\n"}});
}
TEST(Namespaces, WhereBothHostsHaveOneNameForLoopback) {
  const Names one{"alpha", "127.0.1.1 alpha\n::1 alpha\n"};
  meet_across({kIpv6, one, one});
}
// Rank 0 is named as its own resolver puts it: at loopback. The other side knows better.
TEST(Namespaces, AtANameThatIsLoopbackOnRank0) {
  for (const char* loopback : {"127.0.0.1", "127.0.1.1"}) {
    meet_across({kIpv4,
                 {"alpha", std::string(loopback) + " alpha\n"},
                 {"beta", "127.0.1.1 beta\n203.0.113.1 alpha\n"},
                 "alpha:29417"});
  }
}
// The hosts file of a container lists ::1 although its network has no IPv6 at all.
TEST(Namespaces, AtANameOfBothFamiliesWhereIpv6IsOff) {
  meet_across({kIpv4,
               {"alpha", "127.0.0.1 alpha\n::1 alpha\n", true},
               {"beta", "127.0.1.1 beta\n203.0.113.1 alpha\n"},
               "alpha:29418"});
}

}  // namespace
}  // namespace gyre
