#include "base/process.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <fstream>
#include <mutex>

#include "base/fd.hpp"

namespace gyre {
namespace {

std::atomic<bool> is_child{false};

void on_fork_in_child() {
  is_child.store(true, std::memory_order_relaxed);
  close_all_descriptors_in_child();
}

// Asks for every number that may be open; the absurdly large ones are left out.
std::size_t count_one_by_one(const rlimit& limit) {
  constexpr rlim_t kMost = 1 << 16;
  std::size_t count = 0;
  for (rlim_t fd = 0; fd < std::min(limit.rlim_cur, kMost); ++fd) {
    if (::fcntl(static_cast<int>(fd), F_GETFD) >= 0) ++count;
  }
  return count;
}

std::size_t open_descriptors(const rlimit& limit) {
  DIR* directory = ::opendir("/proc/self/fd");
  // Looking takes a descriptor itself, and /proc may not be mounted.
  if (directory == nullptr) return count_one_by_one(limit);
  std::size_t count = 0;
  while (::readdir(directory) != nullptr) ++count;
  ::closedir(directory);
  // ".", "..", and the directory's own descriptor.
  return count > 3 ? count - 3 : 0;
}

}  // namespace

bool forked() {
  [[maybe_unused]] static const int armed = ::pthread_atfork(nullptr, nullptr, on_fork_in_child);
  return is_child.load(std::memory_order_relaxed);
}

Result<void> refuse_in_child() {
  if (!forked()) return {};
  return Error{
      Status::invalid_usage,
      fmt::format("process {} was forked from one that uses Gyre, and cannot use it itself: "
                  "start it with exec, or fork before the first call",
                  ::getpid())};
}

Result<void> ensure_descriptors(std::size_t needed) {
  // One at a time: two that had read the same limit would undo each other's.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return system_error("getrlimit", errno);
  constexpr std::size_t kSpare = 8;  // the program's own next few
  const std::size_t open = open_descriptors(limit);
  const rlim_t wanted = open + needed + kSpare;
  if (limit.rlim_cur == RLIM_INFINITY || wanted <= limit.rlim_cur) return {};
  if (limit.rlim_max != RLIM_INFINITY && wanted > limit.rlim_max) {
    return Error{
        Status::system,
        fmt::format("{} more file descriptors are needed while {} are open, but this process "
                    "may have {} at most: raise its hard limit (ulimit -Hn) to {}",
                    needed, open, limit.rlim_max, wanted)};
  }
  // Doubling spares the next communicators this call; never beyond the hard limit.
  limit.rlim_cur = std::min<rlim_t>(std::max<rlim_t>(wanted, 2 * limit.rlim_cur), limit.rlim_max);
  if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) {
    return system_error(fmt::format("raising the limit of open files to {}", limit.rlim_cur),
                        errno);
  }
  return {};
}

std::string host_name() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

std::string boot_id() {
  std::string id;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
  return id;
}

std::string process_identity() { return fmt::format("host {}, pid {}", host_name(), ::getpid()); }

}  // namespace gyre
