// Which file lies behind memory, and files that are cut short under their readers.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <functional>
#include <string>

#include "base/fault_guard.hpp"
#include "base/maps.hpp"
#include "base/memory.hpp"
#include "base/memory_file.hpp"

namespace gyre {
namespace {

TEST(Maps, ALineIsReadInWhole) {
  const auto line = parse_maps_line(
      "7f0a1000-7f0b2000 rw-s 00003000 fe:1f 1234567                    /memfd:a b (deleted)");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->begin, 0x7f0a1000U);
  EXPECT_EQ(line->end, 0x7f0b2000U);
  EXPECT_TRUE(line->readable && line->writable && line->shared);
  EXPECT_EQ(line->offset, 0x3000U);
  EXPECT_EQ(line->major, 0xfeU);
  EXPECT_EQ(line->minor, 0x1fU);
  EXPECT_EQ(line->inode, 1234567U);
  EXPECT_EQ(line->name, "/memfd:a b (deleted)");
  const auto anonymous = parse_maps_line("7ffc0000-7ffd0000 r-xp 00000000 00:00 0 ");
  ASSERT_TRUE(anonymous);
  EXPECT_FALSE(anonymous->writable || anonymous->shared);
  EXPECT_EQ(anonymous->name, "");
  EXPECT_TRUE(
      parse_maps_line("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0  [vsyscall]"));
}

TEST(Maps, AHugeNameIsKept) {
  const std::string name = "/" + std::string(1 << 20, 'x');
  const auto line = parse_maps_line("1000-2000 rw-s 00000000 00:01 7 " + name + "\\012y");
  ASSERT_TRUE(line);
  EXPECT_EQ(line->name.size(), name.size() + 5);
}

TEST(Maps, OddLinesAreNone) {
  for (const char* odd : {"",
                          " ",
                          "1000",
                          "1000-",
                          "1000-2000",
                          "1000-2000 rw-s",
                          "1000-2000 rw-s 0 0:1",
                          "1000-2000 rw-s 0 00:01 ",
                          "1000-2000 rw-s 0 00:01 x",
                          "1000-2000 rw-s 0 00:01 7x",
                          "2000-1000 rw-s 0 00:01 7 /a",
                          "1000-1000 rw-s 0 00:01 7 /a",
                          "1000-2000 rwxy 0 00:01 7 /a",
                          "1000-2000 wr-s 0 00:01 7 /a",
                          "1000-2000  rw-s 0 00:01 7 /a",
                          "-1-2000 rw-s 0 00:01 7 /a",
                          "0x1000-2000 rw-s 0 00:01 7 /a",
                          "10000000000000000-20000000000000000 rw-s 0 00:01 7 /a",
                          "1000-2000 rw-s ffffffffffffffff 00:01 7 /a",
                          "1000-2000 rw-s 0 100000000:01 7 /a",
                          "1000-2000 rw-s 0 00:01 99999999999999999999 /a",
                          "1000-2000 rw-s -5 00:01 7 /a"}) {
    EXPECT_FALSE(parse_maps_line(odd)) << odd;
  }
}

constexpr std::string_view kMaps =
    "1000-2000 rw-p 00000000 00:00 0 \n"
    "3000-5000 rw-s 00001000 00:01 7                          /memfd:a (deleted)\n"
    "5000-6000 rw-s 00003000 00:01 7                          /memfd:a (deleted)\n"
    "6000-7000 rw-s 00009000 00:01 7                          /memfd:a (deleted)\n"
    "an odd line\n"
    "7000-8000 rw-s 0000a000 00:01 8                          /memfd:b (deleted)\n"
    "8000-9000 r--s 00000000 00:01 9                          /memfd:c (deleted)\n"
    "a000-b000 rw-s 00000000 00:01 9                          /memfd:c (deleted)";

TEST(Maps, ARangeIsFoundInOneFileOnly) {
  const auto found = find_shared_file(kMaps, 0x3800, 0x100);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->begin, 0x3000U);
  EXPECT_EQ(found->inode, 7U);
  EXPECT_TRUE(find_shared_file(kMaps, 0x3000, 0x3000)) << "two mappings that go on";
  EXPECT_FALSE(find_shared_file(kMaps, 0x3000, 0x3001)) << "another place in the file";
  EXPECT_FALSE(find_shared_file(kMaps, 0x6800, 0x1000)) << "another file";
  EXPECT_FALSE(find_shared_file(kMaps, 0x1000, 0x1000)) << "private";
  EXPECT_FALSE(find_shared_file(kMaps, 0x8000, 0x1000)) << "not writable";
  EXPECT_FALSE(find_shared_file(kMaps, 0x2000, 0x1001)) << "begins before";
  EXPECT_FALSE(find_shared_file(kMaps, 0x9000, 0x1001)) << "begins before";
  EXPECT_TRUE(find_shared_file(kMaps, 0xa000, 0x1000)) << "a last line without a newline";
  EXPECT_FALSE(find_shared_file(kMaps, 0xa000, 0x1001)) << "ends behind";
  EXPECT_FALSE(find_shared_file(kMaps, 0x3000, 0)) << "empty";
  EXPECT_FALSE(find_shared_file(kMaps, 0x3000, ~0ULL)) << "wraps around";
  EXPECT_FALSE(find_shared_file("", 0x3000, 1));
}

// Four pages of a file, mapped from its second page on.
struct MappedFile {
  explicit MappedFile(int descriptor, int flags = MAP_SHARED) : file(descriptor) {
    EXPECT_EQ(::ftruncate(file.get(), static_cast<off_t>(5 * page_size())), 0);
    void* base = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file.get(),
                        static_cast<off_t>(page_size()));
    EXPECT_NE(base, MAP_FAILED);
    data = static_cast<char*>(base);
  }
  ~MappedFile() { ::munmap(data, bytes); }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  std::size_t bytes = 4 * page_size();
  Fd file;
  char* data = nullptr;
};

int a_memfd() { return ::memfd_create("memory_file_test", MFD_CLOEXEC); }

// What was found is this memory: a change there shows here.
void expect_found(const MappedFile& mapped) {
  char* const at = mapped.data + page_size() + 100;
  const auto found = open_memory_file(at, 50);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->offset, 2 * page_size());
  const char mark = 'm';
  ASSERT_EQ(::pwrite(found->file.get(), &mark, 1, static_cast<off_t>(found->offset + 100)), 1);
  EXPECT_EQ(*at, 'm');
}

TEST(MemoryFile, OfAMemfdIsFoundAmongTheDescriptors) {
  const MappedFile mapped(a_memfd());
  expect_found(mapped);
  EXPECT_FALSE(open_memory_file(mapped.data - 1, 10));
}

TEST(MemoryFile, OfAFileIsFoundByItsNameOrADescriptor) {
  std::string name = "/dev/shm/memory_file_testXXXXXX";
  MappedFile mapped(::mkstemp(name.data()));
  const Fd kept = std::move(mapped.file);
  expect_found(mapped);
  Fd gone;
  gone = Fd(::fcntl(kept.get(), F_DUPFD_CLOEXEC, 0));
  ::unlink(name.c_str());
  expect_found(mapped);
}

TEST(MemoryFile, OfAFileWithoutADescriptorIsFoundByItsName) {
  std::string name = "/dev/shm/memory_file_test with blanksXXXXXX";
  MappedFile mapped(::mkstemp(name.data()));
  mapped.file.reset();
  expect_found(mapped);
  ::unlink(name.c_str());
}

TEST(MemoryFile, AnotherFileOfThatNameIsNotTakenForIt) {
  std::string name = "/dev/shm/memory_file_testXXXXXX";
  MappedFile mapped(::mkstemp(name.data()));
  mapped.file.reset();
  ::unlink(name.c_str());
  // As the kernel calls it now, and as it was called.
  for (const std::string& impostor : {name, name + " (deleted)"}) {
    const Fd other(::open(impostor.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
    ASSERT_EQ(::ftruncate(other.get(), 1 << 20), 0);
  }
  // Some may open what they have mapped; then it is the right one.
  if (open_memory_file(mapped.data, 1)) expect_found(mapped);
  ::unlink(name.c_str());
  ::unlink((name + " (deleted)").c_str());
}

TEST(MemoryFile, PrivateMemoryHasNone) {
  const MappedFile mapped(a_memfd(), MAP_PRIVATE);
  EXPECT_FALSE(open_memory_file(mapped.data, 10));
  int here = 0;
  EXPECT_FALSE(open_memory_file(&here, sizeof here));
  EXPECT_FALSE(open_memory_file(nullptr, 10));
}

TEST(MemoryFile, WhatLiesBehindTheEndIsNotFound) {
  const MappedFile mapped(a_memfd());
  ASSERT_EQ(::ftruncate(mapped.file.get(), static_cast<off_t>(2 * page_size())), 0);
  EXPECT_TRUE(open_memory_file(mapped.data, page_size()));
  EXPECT_FALSE(open_memory_file(mapped.data, page_size() + 1));
}

// The handler stays for good, so that each test has a process of its own: its exit status, or 1000
// and the signal.
int status_of_child(const std::function<int()>& body) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(30);
    ::_exit(body());
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status);
}

int read_at(const char* at) { return *static_cast<const volatile char*>(at); }

TEST(FaultGuard, AFileCutShortReadsAsZeroesAndIsFoundBroken) {
  const int status = status_of_child([] {
    const MappedFile mapped(a_memfd());
    const MappedFile other(a_memfd());
    const FaultGuard guard(mapped.data, mapped.bytes - 10);
    const FaultGuard second(other.data, other.bytes);
    std::memset(mapped.data, 'x', mapped.bytes);
    std::memset(other.data, 'x', other.bytes);
    if (guard.broken() || FaultGuard::any_broken()) return 2;
    if (::ftruncate(mapped.file.get(), 0) != 0) return 3;
    if (read_at(mapped.data + mapped.bytes - 1) != 0) return 4;
    mapped.data[0] = 'y';
    if (!guard.broken() || !FaultGuard::any_broken()) return 5;
    return second.broken() || read_at(other.data) != 'x' ? 6 : 0;
  });
  EXPECT_EQ(status, 0);
}

TEST(FaultGuard, WhatIsNotGuardedAnyMoreEndsTheProcess) {
  const int status = status_of_child([] {
    ::signal(SIGBUS, SIG_DFL);  // a sanitizer may have its own
    const MappedFile mapped(a_memfd());
    { const FaultGuard guard(mapped.data, mapped.bytes); }
    if (::ftruncate(mapped.file.get(), 0) != 0) return 3;
    return read_at(mapped.data);
  });
  EXPECT_EQ(status, 1000 + SIGBUS);
}

TEST(FaultGuard, TheHandlerThatWasThereBeforeGetsTheRest) {
  const int status = status_of_child([] {
    struct sigaction before {};
    before.sa_flags = SA_SIGINFO;
    before.sa_sigaction = [](int, siginfo_t* info, void*) {
      ::_exit(info->si_code == BUS_ADRERR ? 42 : 1);
    };
    ::sigaction(SIGBUS, &before, nullptr);
    const MappedFile guarded(a_memfd());
    const MappedFile mapped(a_memfd());
    const FaultGuard guard(guarded.data, guarded.bytes);
    if (::ftruncate(mapped.file.get(), 0) != 0) return 3;
    return read_at(mapped.data) + 4;
  });
  EXPECT_EQ(status, 42);
}

TEST(FaultGuard, ASignalThatWasSentDoesWhatItDid) {
  EXPECT_EQ(status_of_child([] {
              ::signal(SIGBUS, SIG_IGN);
              const MappedFile mapped(a_memfd());
              const FaultGuard guard(mapped.data, mapped.bytes);
              ::raise(SIGBUS);
              return 0;
            }),
            0);
  EXPECT_EQ(status_of_child([] {
              ::signal(SIGBUS, SIG_DFL);
              const MappedFile mapped(a_memfd());
              const FaultGuard guard(mapped.data, mapped.bytes);
              ::raise(SIGBUS);
              return 0;
            }),
            1000 + SIGBUS);
}

}  // namespace
}  // namespace gyre
