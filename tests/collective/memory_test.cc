// What a communicator of 8 ranks takes of each process's memory, once every lane was used to the
// full by every collective: under 8 MiB.
//
// Counted are the process's own pages and its share of those that it shares with peers, so that the
// sum over ranks is what the machine gives. Kernel memory (descriptors, TCP's buffers) is not.
#include <nccl.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "tests/collective/forked.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 8;
constexpr std::size_t kElements = 1 << 20;
constexpr std::int64_t kMostKib = 8 << 10;

std::int64_t memory_kib() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::int64_t sum = 0;
  for (std::string name; file >> name;) {
    std::int64_t kib = 0;
    if (name == "Pss_Anon:" || name == "Pss_Shmem:") {
      file >> kib;
      sum += kib;
    }
  }
  return sum;
}

bool barrier(ncclComm_t comm) {
  float one = 1;
  return ncclAllReduce(&one, &one, 1, ncclFloat32, ncclSum, comm, nullptr) == ncclSuccess;
}

bool call_everything(ncclComm_t comm, int rank, float* input, float* output) {
  for (const std::size_t all : {std::size_t{kWorld}, kElements / 64, kElements}) {
    const std::size_t block = all / kWorld;
    for (int repeat = 0; repeat < 3; ++repeat) {
      ncclAllReduce(input, output, all, ncclFloat32, ncclSum, comm, nullptr);
      ncclAllGather(input, output, block, ncclFloat32, comm, nullptr);
      ncclReduceScatter(input, output, block, ncclFloat32, ncclSum, comm, nullptr);
      for (int root = 0; root < kWorld; ++root) {
        ncclBroadcast(input, output, all, ncclFloat32, root, comm, nullptr);
        ncclReduce(input, output, all, ncclFloat32, ncclSum, root, comm, nullptr);
      }
      ncclAlltoAll(input, output, block, ncclFloat32, comm, nullptr);
      ncclGroupStart();
      for (int peer = 0; peer < kWorld; ++peer) {
        if (peer == rank) continue;
        const auto at = static_cast<std::size_t>(peer) * block;
        ncclSend(input + at, block, ncclFloat32, peer, comm, nullptr);
        ncclRecv(output + at, block, ncclFloat32, peer, comm, nullptr);
      }
      ncclGroupEnd();
    }
  }
  return barrier(comm);
}

// In KiB.
struct Growth {
  std::int64_t ready = 0;
  std::int64_t used = 0;
};

int live(const ncclUniqueId& id, int rank, Growth& growth) {
  std::vector<float> input(kElements, 1);
  std::vector<float> output(kElements, 1);
  const std::int64_t before = memory_kib();
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, kWorld, id, rank) != ncclSuccess) return complain("init");
  growth.ready = memory_kib() - before;
  if (!call_everything(comm, rank, input.data(), output.data())) return complain("calls");
  growth.used = memory_kib() - before;
  // Pages are shared until the first one leaves.
  if (!barrier(comm)) return complain("barrier");
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : complain("destroy");
}

class Memory : public testing::TestWithParam<const char*> {};

TEST_P(Memory, OfARankIsBounded) {
  const Shared<Growth> growth(kWorld);
  const Channel ids;
  std::vector<pid_t> children;
  for (int rank = 0; rank < kWorld; ++rank) {
    children.push_back(in_child([&] {
      if (GetParam() == std::string("Tcp")) apply({{"NCCL_SHM_DISABLE", "1"}});
      ncclUniqueId id{};
      if (rank == 0) {
        if (ncclGetUniqueId(&id) != ncclSuccess) return complain("id");
        for (int other = 1; other < kWorld; ++other) ids.put(id);
      } else if (!ids.get(id)) {
        return complain("no id");
      }
      return live(id, rank, growth[static_cast<std::size_t>(rank)]);
    }));
  }
  for (const pid_t child : children) ASSERT_EQ(status_of(child), 0);
  for (std::size_t rank = 0; rank < kWorld; ++rank) {
    std::printf("rank %zu: %lld KiB when ready, %lld KiB when used\n", rank,
                static_cast<long long>(growth[rank].ready),
                static_cast<long long>(growth[rank].used));
    EXPECT_GT(growth[rank].used, 0);
    EXPECT_LT(growth[rank].used, kMostKib);
  }
}

INSTANTIATE_TEST_SUITE_P(, Memory, testing::Values("Shm", "Tcp"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace gyre::test
