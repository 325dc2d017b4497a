#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/abort.hpp"
#include "base/fd.hpp"
#include "base/process.hpp"

namespace gyre {
namespace {

template <typename Body>
int in_child(Body&& body) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(body());
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

TEST(Process, AForkedChildIsTold) {
  EXPECT_FALSE(forked());
  EXPECT_TRUE(refuse_in_child());
  EXPECT_EQ(in_child([] {
              const auto refused = refuse_in_child();
              return forked() && !refused && refused.error().status == Status::invalid_usage ? 0
                                                                                             : 1;
            }),
            0);
  EXPECT_FALSE(forked());
}

TEST(Process, AForkedChildDropsOurDescriptors) {
  ASSERT_FALSE(forked());
  std::optional<Fd> ours(Fd(::open("/dev/null", O_RDONLY | O_CLOEXEC)));
  const int number = ours->get();
  EXPECT_EQ(in_child([&] {
              if (::fcntl(number, F_GETFD) >= 0) return 1;
              // The child gets the same number for its own file; our object must leave it alone.
              if (::open("/dev/null", O_RDONLY) != number) return 2;
              ours.reset();
              return ::fcntl(number, F_GETFD) >= 0 ? 0 : 3;
            }),
            0);
  EXPECT_GE(::fcntl(number, F_GETFD), 0);
}

TEST(Process, RaisesTheSoftLimit) {
  EXPECT_EQ(in_child([] {
              rlimit limit{64, 4096};
              if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              if (!ensure_descriptors(1000)) return 2;
              ::getrlimit(RLIMIT_NOFILE, &limit);
              return limit.rlim_cur >= 1000 ? 0 : 3;
            }),
            0);
}

TEST(Process, TooLowAHardLimitIsAnErrorWithNumbers) {
  EXPECT_EQ(in_child([] {
              rlimit limit{64, 64};
              if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
              const auto result = ensure_descriptors(1000);
              if (result || result.error().status != Status::system) return 2;
              const auto& text = result.error().text;
              const bool named = text.find("1000 more") != std::string::npos &&
                                 text.find("64 at most") != std::string::npos;
              return named && ensure_descriptors(8) ? 0 : 3;
            }),
            0);
}

TEST(Process, RacingThreadsNeverLowerTheLimit) {
  EXPECT_EQ(in_child([] {
              for (int round = 0; round < 200; ++round) {
                rlimit limit{};
                ::getrlimit(RLIMIT_NOFILE, &limit);
                limit.rlim_cur = 64;
                if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
                std::vector<std::thread> threads;
                std::atomic<bool> go{false};
                for (const std::size_t needed : {100U, 3'000U, 200U, 300U}) {
                  threads.emplace_back([&go, needed] {
                    while (!go) {
                    }
                    (void)ensure_descriptors(needed);
                  });
                }
                go = true;
                for (auto& thread : threads) thread.join();
                ::getrlimit(RLIMIT_NOFILE, &limit);
                if (limit.rlim_cur < 3'000) return 2;
              }
              return 0;
            }),
            0);
}

TEST(Process, WithoutProcDescriptorsAreCountedAllTheSame) {
  std::string empty = "/tmp/gyre-root-XXXXXX";
  ASSERT_NE(::mkdtemp(empty.data()), nullptr);
  const int status = in_child([&] {
    if (::chroot(empty.c_str()) != 0) return 77;
    rlimit limit{64, 64};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) return 1;
    for (int i = 0; i < 40; ++i) {
      if (::dup(0) < 0) return 2;
    }
    return !ensure_descriptors(30) && ensure_descriptors(4) ? 0 : 3;
  });
  ::rmdir(empty.c_str());
  if (status == 77) GTEST_SKIP() << "needs the right to change the root folder";
  EXPECT_EQ(status, 0);
}

struct FragileWake {
  explicit FragileWake(int* counter) : rung(counter) {}
  FragileWake(FragileWake&&) = default;
  FragileWake(const FragileWake& other) : rung(other.rung) {
    if (no_copies) throw std::bad_alloc();
  }
  void operator()() const { ++*rung; }
  int* rung;
  static inline bool no_copies = false;
};

TEST(Abort, WakesEverybodyThoughThereIsNoMemoryForCopies) {
  AbortState abort;
  int rung = 0;
  abort.on_raise(FragileWake(&rung));
  abort.on_raise(FragileWake(&rung));
  FragileWake::no_copies = true;
  EXPECT_TRUE(abort.raise({Status::aborted, "enough"}));
  FragileWake::no_copies = false;
  EXPECT_EQ(rung, 2);
  EXPECT_FALSE(abort.raise({Status::aborted, "again"}));
  EXPECT_EQ(rung, 2);
}

TEST(Process, NamesItself) {
  EXPECT_NE(process_identity().find(std::to_string(::getpid())), std::string::npos);
  EXPECT_NE(process_identity().find(host_name()), std::string::npos);
}

}  // namespace
}  // namespace gyre
