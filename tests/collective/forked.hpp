// Worlds and ranks as processes, where each needs its own environment or namespaces. The parent
// must not use Gyre: a forked child of a process that did is refused.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gyre::test {

inline constexpr int kSkipped = 77;

using Environment = std::vector<std::pair<std::string, std::string>>;

inline void apply(const Environment& environment) {
  for (const auto& [name, value] : environment) ::setenv(name.c_str(), value.c_str(), 1);
}

// A pipe that lives across fork().
class Channel {
 public:
  Channel() { EXPECT_EQ(::pipe(ends_), 0); }
  ~Channel() {
    for (const int end : ends_) ::close(end);
  }
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;
  template <typename T>
  void put(const T& value) const {
    if (::write(ends_[1], &value, sizeof value) != ssize_t{sizeof value}) std::abort();
  }
  // False if nothing came within 30 s.
  template <typename T>
  bool get(T& value) const {
    pollfd entry{ends_[0], POLLIN, 0};
    return ::poll(&entry, 1, 30'000) == 1 &&
           ::read(ends_[0], &value, sizeof value) == ssize_t{sizeof value};
  }

 private:
  int ends_[2] = {-1, -1};
};

// Memory that parent and children share.
template <typename T>
class Shared {
 public:
  explicit Shared(std::size_t count) : bytes_(count * sizeof(T)) {
    void* memory =
        ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::abort();
    data_ = static_cast<T*>(memory);
  }
  ~Shared() { ::munmap(data_, bytes_); }
  Shared(const Shared&) = delete;
  Shared& operator=(const Shared&) = delete;
  T& operator[](std::size_t i) const { return data_[i]; }
  T* data() const { return data_; }

 private:
  std::size_t bytes_;
  T* data_ = nullptr;
};

// Runs the body in a child; its value is the child's exit status. A child that hangs is killed by
// its own alarm.
inline pid_t in_child(const std::function<int()>& body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::alarm(50);
  ::_exit(body());
}

inline int status_of(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

// The text of an error, kept where the parent can read it.
struct Note {
  char text[4096];
  ncclResult_t result;
};

inline int complain(const char* what) {
  std::fprintf(stderr, "%d: %s: %s\n", ::getpid(), what, ncclGetLastError(nullptr));
  return 1;
}

}  // namespace gyre::test
