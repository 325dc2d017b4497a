// All ranks die by SIGKILL in the middle of their work: no file, no socket stays. Runs in
// namespaces of its own, so that whatever is found there is ours.
#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

#include "tests/fault/expect.hpp"
#include "tests/fault/ranks.hpp"

namespace gyre::test {
namespace {

namespace fs = std::filesystem;

const std::vector<std::string> kFolders = {"/dev/shm", "/tmp", "/var/tmp"};

bool begins_with(const fs::path& path, const fs::path& folder) {
  return path.string().starts_with(folder.string() + "/");
}

// Empty folders in place of the shared ones; the build, if it lies in one, stays visible.
bool hide_folders() {
  const fs::path build = fs::canonical("/proc/self/exe").parent_path().parent_path();
  const int kept = ::open(build.c_str(), O_PATH | O_CLOEXEC);
  if (::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return false;
  for (const std::string& folder : kFolders) {
    if (!fs::exists(folder)) continue;
    if (::mount("tmpfs", folder.c_str(), "tmpfs", 0, nullptr) != 0) return false;
    if (!begins_with(build, folder)) continue;
    fs::create_directories(build);
    const std::string source = "/proc/self/fd/" + std::to_string(kept);
    if (::mount(source.c_str(), build.c_str(), nullptr, MS_BIND, nullptr) != 0) return false;
  }
  ::close(kept);
  return true;
}

bool raise_loopback() {
  const int fd = ::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  ifreq request{};
  std::string("lo").copy(request.ifr_name, sizeof request.ifr_name - 1);
  request.ifr_flags = IFF_UP;
  const bool up = ::ioctl(fd, SIOCSIFFLAGS, &request) == 0;
  ::close(fd);
  return up;
}

bool enter_namespaces() {
  const int user = ::geteuid() == 0 ? 0 : CLONE_NEWUSER;
  return ::unshare(CLONE_NEWNS | CLONE_NEWNET | user) == 0 && hide_folders() && raise_loopback();
}

std::vector<std::string> files() {
  std::vector<std::string> found;
  for (const std::string& folder : kFolders) {
    for (const auto& entry :
         fs::recursive_directory_iterator(folder, fs::directory_options::skip_permission_denied)) {
      if (entry.is_regular_file() || entry.is_fifo() || entry.is_socket()) {
        found.push_back(entry.path().string());
      }
    }
  }
  return found;
}

// The lines of a table of sockets but for TCP's memory of closed ones.
std::vector<std::string> sockets() {
  constexpr const char* kTimeWait = "06";
  std::vector<std::string> found;
  for (const std::string table : {"tcp", "tcp6", "udp", "udp6", "unix"}) {
    std::ifstream lines("/proc/self/net/" + table);
    std::string line;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      std::istringstream words(line);
      std::string number, local, remote, state;
      words >> number >> local >> remote >> state;
      if (table.starts_with("tcp") && state == kTimeWait) continue;
      found.push_back(table + ": " + line);
    }
  }
  return found;
}

std::string text_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

class Remains : public testing::TestWithParam<Place> {
 protected:
  static void SetUpTestSuite() { alone_ = enter_namespaces(); }
  static bool alone_;
  TestLimit limit_;
};

bool Remains::alone_ = false;

TEST_P(Remains, NothingWhenAllRanksAreKilled) {
  if (!alone_) GTEST_SKIP() << "namespaces are not allowed here";
  const std::vector<std::string> before = files();
  ASSERT_TRUE(sockets().empty()) << text_of(sockets());
  Ranks ranks(4, GetParam().environment());
  ranks.init();
  ranks.tell(ranks.all(), "loop", "loop 500000");
  for (const int rank : ranks.all()) EXPECT_EQ(ranks[rank].report("loop.entered").code, 0);
  EXPECT_FALSE(sockets().empty());
  for (const int rank : ranks.all()) ::kill(ranks[rank].pid(), SIGKILL);
  for (const int rank : ranks.all()) ranks[rank].kill();
  EXPECT_EQ(text_of(files()), text_of(before));
  // The kernel's own end of a connection may come a moment after the processes'.
  const Clock::time_point until = Clock::now() + kBound;
  while (!sockets().empty() && Clock::now() < until) std::this_thread::yield();
  EXPECT_TRUE(sockets().empty()) << text_of(sockets());
}

GYRE_EVERYWHERE(Remains);

}  // namespace
}  // namespace gyre::test
