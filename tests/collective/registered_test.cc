// Memory of files that was registered: peers map it, as long as it is registered and no longer.
#include <fcntl.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "tests/collective/forked.hpp"

namespace gyre::test {
namespace {

constexpr std::size_t kCount = 300'001;
constexpr std::size_t kBytes = kCount * sizeof(float);
constexpr std::size_t kSkew = 3 * 64;  // of the input in its page
constexpr std::size_t kPage = 4096;    // of the file, that is not mapped
constexpr std::size_t kWhole = 4 << 20;

enum class Lies : std::uint8_t { memfd, named, unlinked, anonymous };

std::string name_of(int rank) { return "gyre_registered_" + std::to_string(rank) + "_"; }

// A file mapped from its second page on, with an input and an output in it.
class File {
 public:
  File(Lies lies, int rank) {
    if (lies == Lies::anonymous) {
      map(MAP_PRIVATE | MAP_ANONYMOUS, 0);
      return;
    }
    if (lies == Lies::memfd) {
      descriptor_ = ::memfd_create(name_of(rank).c_str(), MFD_CLOEXEC);
    } else {
      path_ = "/dev/shm/" + name_of(rank) + "XXXXXX";
      descriptor_ = ::mkstemp(path_.data());
    }
    if (::ftruncate(descriptor_, kPage + kWhole) != 0) std::abort();
    map(MAP_SHARED, kPage);
    if (lies == Lies::named) {
      ::close(descriptor_);
      descriptor_ = -1;
    } else if (lies == Lies::unlinked) {
      unlink();
    }
  }
  ~File() {
    unmap();
    unlink();
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void unmap() {
    if (base_ != nullptr) ::munmap(base_, kWhole);
    base_ = nullptr;
  }
  void unlink() {
    if (!path_.empty()) ::unlink(path_.c_str());
    path_.clear();
  }
  int descriptor() const { return descriptor_; }
  float* input() const { return reinterpret_cast<float*>(base_ + kSkew); }
  float* output() const { return reinterpret_cast<float*>(base_ + kWhole / 2); }

 private:
  void map(int flags, off_t offset) {
    void* base = ::mmap(nullptr, kWhole, PROT_READ | PROT_WRITE, flags, descriptor_, offset);
    if (base == MAP_FAILED) std::abort();
    base_ = static_cast<char*>(base);
  }

  int descriptor_ = -1;
  std::string path_;
  char* base_ = nullptr;
};

struct Rank {
  int rank = 0;
  int world = 0;
  ncclComm_t comm = nullptr;
};

using Body = std::function<int(const Rank&)>;

// Every rank in a process of its own; all must give 0.
void expect_ranks_succeed(int world, const Body& body) {
  const Channel ids;
  std::vector<pid_t> children;
  for (int rank = 0; rank < world; ++rank) {
    children.push_back(in_child([&, rank] {
      ncclUniqueId id{};
      if (rank == 0) {
        if (ncclGetUniqueId(&id) != ncclSuccess) return complain("id");
        for (int other = 1; other < world; ++other) ids.put(id);
      } else if (!ids.get(id)) {
        return complain("no id");
      }
      Rank self{rank, world, nullptr};
      if (ncclCommInitRank(&self.comm, world, id, rank) != ncclSuccess) return complain("init");
      const int status = body(self);
      (void)ncclCommAbort(self.comm);
      return status;
    }));
  }
  for (int rank = 0; rank < world; ++rank) {
    EXPECT_EQ(status_of(children[static_cast<std::size_t>(rank)]), 0) << "rank " << rank;
  }
}

bool all_reduce(const Rank& self, float* input, float* output) {
  for (std::size_t i = 0; i < kCount; ++i)
    input[i] = static_cast<float>(self.rank + static_cast<int>(i % 100));
  if (ncclAllReduce(input, output, kCount, ncclFloat32, ncclSum, self.comm, nullptr) !=
      ncclSuccess) {
    return complain("all-reduce") == 0;
  }
  const int ranks = self.world * (self.world - 1) / 2;
  for (std::size_t i = 0; i < kCount; ++i) {
    const auto wanted = static_cast<float>(ranks + self.world * static_cast<int>(i % 100));
    if (output[i] != wanted) return false;
  }
  return true;
}

bool barrier(const Rank& self) {
  float one = 1;
  return ncclAllReduce(&one, &one, 1, ncclFloat32, ncclSum, self.comm, nullptr) == ncclSuccess;
}

// How often this process has mapped a file of this rank.
int mappings_of(int rank) {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    found += line.find(name_of(rank)) != std::string::npos ? 1 : 0;
  }
  return found;
}

// Whether no rank has a file of another one mapped any more, after a while: peers are told by and
// by, and drop a mapping at the end of their next call.
bool unmapped(const Rank& self) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  float mapped = 1;
  while (mapped != 0 && std::chrono::steady_clock::now() < limit) {
    mapped = 0;
    for (int other = 0; other < self.world; ++other) {
      if (other != self.rank && mappings_of(other) != 0) mapped = 1;
    }
    if (ncclAllReduce(&mapped, &mapped, 1, ncclFloat32, ncclMax, self.comm, nullptr) !=
        ncclSuccess) {
      return false;
    }
  }
  return mapped == 0;
}

std::size_t open_descriptors() {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& one : std::filesystem::directory_iterator("/proc/self/fd")) {
    ++count;
  }
  return count;
}

// What both buffers were registered as.
struct Handles {
  void* input = nullptr;
  void* output = nullptr;
};

bool enrol(const Rank& self, const File& file, Handles& handles) {
  return ncclCommRegister(self.comm, file.input(), kBytes, &handles.input) == ncclSuccess &&
         ncclCommRegister(self.comm, file.output(), kBytes, &handles.output) == ncclSuccess &&
         handles.input != nullptr && handles.input != handles.output;
}

bool discharge(const Rank& self, const Handles& handles) {
  return ncclCommDeregister(self.comm, handles.input) == ncclSuccess &&
         ncclCommDeregister(self.comm, handles.output) == ncclSuccess;
}

int reduce_registered(const Rank& self, Lies lies) {
  const File file(lies, self.rank);
  Handles handles;
  if (!enrol(self, file, handles)) return complain("register");
  if (!all_reduce(self, file.input(), file.output())) return complain("out of place");
  if (!all_reduce(self, file.input(), file.input())) return complain("in place");
  const bool mapped = lies != Lies::anonymous;
  for (int other = 0; other < self.world; ++other) {
    if (other == self.rank) continue;
    if ((mappings_of(other) > 0) != mapped) return complain(mapped ? "not mapped" : "mapped");
  }
  if (!barrier(self)) return complain("barrier");
  if (!discharge(self, handles)) return complain("deregister");
  if (!unmapped(self)) return complain("still mapped");
  if (!all_reduce(self, file.input(), file.output())) return complain("not registered any more");
  return mapped && mappings_of((self.rank + 1) % self.world) != 0 ? complain("mapped again") : 0;
}

class Registered : public testing::TestWithParam<std::pair<const char*, Lies>> {};

TEST_P(Registered, MemoryIsMappedByPeersUntilItIsDeregistered) {
  const Lies lies = GetParam().second;
  for (const int world : {2, 3}) {
    expect_ranks_succeed(world, [&](const Rank& self) { return reduce_registered(self, lies); });
  }
}

INSTANTIATE_TEST_SUITE_P(, Registered,
                         testing::Values(std::pair("Memfd", Lies::memfd),
                                         std::pair("Named", Lies::named),
                                         std::pair("Unlinked", Lies::unlinked),
                                         std::pair("Anonymous", Lies::anonymous)),
                         [](const auto& test) { return std::string(test.param.first); });

TEST(Registering, TimeAndAgainLeaksNoDescriptorAndNoMapping) {
  expect_ranks_succeed(2, [](const Rank& self) {
    const File file(Lies::memfd, self.rank);
    Handles handles;
    std::size_t before = 0;
    for (int round = 0; round < 200; ++round) {
      if (!enrol(self, file, handles)) return complain("register");
      if (round % 20 == 0 && !all_reduce(self, file.input(), file.output())) return complain("sum");
      if (!discharge(self, handles)) return complain("deregister");
      if (round == 20) before = open_descriptors();
    }
    if (!unmapped(self)) return complain("still mapped");
    if (open_descriptors() > before) return complain("descriptors");
    return mappings_of(self.rank) == 1 ? 0 : complain("mappings");
  });
}

TEST(Registering, HandlesAreCheckedAndHoldsAreCounted) {
  expect_ranks_succeed(2, [](const Rank& self) {
    const File file(Lies::memfd, self.rank);
    Handles first;
    Handles second;
    void* part = nullptr;
    if (!enrol(self, file, first) || !enrol(self, file, second)) return complain("register");
    if (ncclCommRegister(self.comm, file.input() + 100, 100, &part) != ncclSuccess) return 1;
    if (!discharge(self, first)) return complain("deregister");
    if (ncclCommDeregister(self.comm, first.input) != ncclInvalidUsage) return complain("twice");
    if (ncclCommDeregister(self.comm, &part) != ncclInvalidUsage) return complain("unknown");
    if (ncclCommDeregister(self.comm, nullptr) != ncclSuccess) return complain("none");
    if (!all_reduce(self, file.input(), file.output())) return complain("sum");
    if (mappings_of(1 - self.rank) == 0) return complain("still held, and not mapped");
    if (!barrier(self)) return complain("barrier");
    if (!discharge(self, second)) return complain("deregister");
    if (ncclCommDeregister(self.comm, part) != ncclSuccess) return complain("part");
    return unmapped(self) ? 0 : complain("still mapped");
  });
}

// Neither is how it should be done; nobody is hurt, and results are right.
TEST(Registering, MemoryThatWasUnmappedBeforeHurtsNobody) {
  expect_ranks_succeed(2, [](const Rank& self) {
    File file(Lies::named, self.rank);
    Handles handles;
    if (!enrol(self, file, handles)) return complain("register");
    if (!all_reduce(self, file.input(), file.output())) return complain("sum");
    void* const place = file.input();
    file.unmap();
    file.unlink();
    // The kernel gives the same place again, which is then registered as what it is now.
    for (const Lies lies : {Lies::memfd, Lies::anonymous}) {
      const File other(lies, self.rank);
      if (other.input() != place) std::printf("mapped elsewhere\n");
      Handles others;
      if (!enrol(self, other, others)) return complain("register");
      if (!all_reduce(self, other.input(), other.output())) return complain("another file");
      if (!all_reduce(self, other.input(), other.input())) return complain("in place");
      if (!discharge(self, others)) return complain("deregister another");
    }
    return discharge(self, handles) ? 0 : complain("deregister");
  });
}

// Its reader would die of SIGBUS.
TEST(Registering, AFileThatIsCutShortIsTheSendersErrorNotTheReadersEnd) {
  expect_ranks_succeed(2, [](const Rank& self) {
    const File file(Lies::memfd, self.rank);
    Handles handles;
    if (!enrol(self, file, handles)) return complain("register");
    if (!all_reduce(self, file.input(), file.output())) return complain("sum");
    if (self.rank == 0) {
      if (::ftruncate(file.descriptor(), kPage) != 0) return complain("truncate");
      const auto sent = ncclSend(file.input(), kCount, ncclFloat32, 1, self.comm, nullptr);
      return sent == ncclRemoteError ? 0 : complain("send");
    }
    std::vector<float> into(kCount);
    if (ncclRecv(into.data(), kCount, ncclFloat32, 0, self.comm, nullptr) != ncclRemoteError) {
      return complain("receive");
    }
    const std::string why = ncclGetLastError(self.comm);
    return why.find("rank 0 cut the file short") != std::string::npos ? 0 : complain("why");
  });
}

}  // namespace
}  // namespace gyre::test
