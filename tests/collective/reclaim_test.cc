// Memory is its user's again as soon as a call has failed: nobody reads it or writes it any more.
#include <atomic>
#include <chrono>
#include <cstring>
#include <random>
#include <thread>

#include "tests/collective/forked.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 3;
constexpr std::size_t kCount = 3 << 20;  // floats: a slot holds more than a rank's part
constexpr std::size_t kBytes = kCount * sizeof(float);
constexpr unsigned char kMark = 0x5a;

using OneCall = std::function<ncclResult_t(float*, float*, ncclComm_t)>;
using AfterFailure = std::function<bool(void* input, void* output)>;

void* mapped() {
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// The memory goes at once; who still works on it dies of it.
bool unmap(void* input, void* output) {
  ::munmap(input, kBytes);
  ::munmap(output, kBytes);
  return true;
}

bool all_marked(const void* memory) {
  const auto* bytes = static_cast<const unsigned char*>(memory);
  for (std::size_t i = 0; i < kBytes; i += 1024) {
    if (bytes[i] != kMark) return false;
  }
  return true;
}

// What is written there stays as it is.
bool overwrite(void* input, void* output) {
  std::memset(output, kMark, kBytes);
  bool stayed = true;
  for (int look = 0; look < 3; ++look) stayed = stayed && all_marked(output);
  unmap(input, output);
  return stayed;
}

// Ranks as threads repeat the call until one of them aborts. Whether all memory was left alone.
bool abort_one(unsigned seed, const OneCall& call, const AfterFailure& after) {
  std::minstd_rand random(seed);
  const int victim = static_cast<int>(random() % kWorld);
  const std::chrono::microseconds delay(random() % 30'000);
  ncclUniqueId id;
  if (ncclGetUniqueId(&id) != ncclSuccess) return false;
  std::vector<ncclComm_t> comms(kWorld);
  std::atomic<int> ready{0};
  std::atomic<bool> left_alone{true};
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.emplace_back([&, rank] {
      ncclComm_t& comm = comms[static_cast<std::size_t>(rank)];
      const bool opened = ncclCommInitRank(&comm, kWorld, id, rank) == ncclSuccess;
      auto* input = static_cast<float*>(mapped());
      auto* output = static_cast<float*>(mapped());
      ++ready;
      if (!opened) left_alone = false;
      while (opened && call(input, output, comm) == ncclSuccess) continue;
      if (!after(input, output)) left_alone = false;
    });
  }
  while (ready < kWorld) std::this_thread::yield();
  std::this_thread::sleep_for(delay);
  (void)ncclCommAbort(comms[static_cast<std::size_t>(victim)]);
  for (std::thread& rank : ranks) rank.join();
  for (int rank = 0; rank < kWorld; ++rank) {
    if (rank != victim) (void)ncclCommAbort(comms[static_cast<std::size_t>(rank)]);
  }
  return left_alone;
}

void expect_left_alone(const OneCall& call, const AfterFailure& after) {
  constexpr unsigned kRounds = 12;
  const unsigned seed = std::random_device()();
  const pid_t child = in_child([&] {
    apply({{"GYRE_SLOT_BYTES", "4M"}});
    for (unsigned round = 0; round < kRounds; ++round) {
      if (!abort_one(seed + round, call, after)) return 1;
    }
    return 0;
  });
  EXPECT_EQ(status_of(child), 0) << "seed " << seed;
}

ncclResult_t all_reduce(float* input, float* output, ncclComm_t comm) {
  return ncclAllReduce(input, output, kCount, ncclFloat32, ncclSum, comm, nullptr);
}
ncclResult_t reduce_scatter(float* input, float* output, ncclComm_t comm) {
  return ncclReduceScatter(input, output, kCount / kWorld, ncclFloat32, ncclSum, comm, nullptr);
}
ncclResult_t broadcast(float* input, float* output, ncclComm_t comm) {
  return ncclBroadcast(input, output, kCount, ncclFloat32, 0, comm, nullptr);
}

// One rank, a process of its own, whose memory all ranks map; the victim is killed or aborts.
struct Loss {
  int victim = 0;
  bool killed = false;
  bool in_place = false;
  std::chrono::microseconds delay{0};
};

int lose_one(int rank, const Loss& loss, const Shared<ncclUniqueId>& id, const Channel& id_made) {
  if (rank == 0) {
    if (ncclGetUniqueId(id.data()) != ncclSuccess) return complain("id");
    for (int other = 1; other < kWorld; ++other) id_made.put(other);
  } else if (int own = 0; !id_made.get(own)) {
    return 1;
  }
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, kWorld, id[0], rank) != ncclSuccess) return complain("init");
  void* input = nullptr;
  void* output = nullptr;
  if (ncclMemAlloc(&input, kBytes) != ncclSuccess) return complain("memory");
  if (!loss.in_place && ncclMemAlloc(&output, kBytes) != ncclSuccess) return complain("memory");
  if (loss.in_place) output = input;
  std::jthread trouble;
  const auto reduce = [&] {
    return ncclAllReduce(input, output, kCount, ncclFloat32, ncclSum, comm, nullptr);
  };
  // After a first call every rank is past its init, which would fail otherwise.
  if (rank == loss.victim) {
    if (reduce() != ncclSuccess) return complain("first call");
    trouble = std::jthread([&] {
      std::this_thread::sleep_for(loss.delay);
      if (loss.killed) ::raise(SIGKILL);
      (void)ncclCommAbort(comm);
    });
  }
  while (reduce() == ncclSuccess) continue;
  std::memset(output, kMark, kBytes);
  for (int look = 0; look < 5; ++look) {
    if (!all_marked(output)) return complain("written after the call had failed");
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  if (ncclMemFree(input) != ncclSuccess) return complain("free");
  if (!loss.in_place && ncclMemFree(output) != ncclSuccess) return complain("free");
  if (rank != loss.victim) (void)ncclCommAbort(comm);
  return 0;
}

TEST(Reclaim, AllocatedMemoryOfProcessesAfterALoss) {
  constexpr int kRounds = 12;
  const unsigned seed = std::random_device()();
  std::minstd_rand random(seed);
  for (int round = 0; round < kRounds; ++round) {
    const Loss loss{.victim = static_cast<int>(random() % kWorld),
                    .killed = round % 2 == 0,
                    .in_place = round % 4 < 2,
                    .delay = std::chrono::microseconds(random() % 20'000)};
    const Shared<ncclUniqueId> id(1);
    const Channel id_made;
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < kWorld; ++rank) {
      ranks.push_back(in_child([&, rank] { return lose_one(rank, loss, id, id_made); }));
    }
    for (int rank = 0; rank < kWorld; ++rank) {
      const int status = status_of(ranks[static_cast<std::size_t>(rank)]);
      const bool dies = loss.killed && rank == loss.victim;
      EXPECT_EQ(status, dies ? 1000 + SIGKILL : 0) << "seed " << seed << " round " << round;
    }
  }
}

TEST(Reclaim, UnmappedAfterAnAllReduce) { expect_left_alone(all_reduce, unmap); }
TEST(Reclaim, UnmappedAfterAReduceScatter) { expect_left_alone(reduce_scatter, unmap); }
TEST(Reclaim, UnmappedAfterABroadcast) { expect_left_alone(broadcast, unmap); }
TEST(Reclaim, OverwrittenAfterAnAllReduce) { expect_left_alone(all_reduce, overwrite); }

}  // namespace
}  // namespace gyre::test
