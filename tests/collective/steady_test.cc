// A call that was made before costs no allocation and no page fault, wherever its ranks are.
//
// Counted are the threads that call. Each rank makes every call at every size until all slots were
// met (a peer that is ahead fills them with its next call), then makes them again and counts: the
// sum over all repetitions must be zero.
#include <nccl.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "gyre/device.h"
#include "tests/collective/cost.hpp"
#include "tests/collective/forked.hpp"

extern "C" ncclResult_t ncclAlltoAllv(const void*, const size_t[], const size_t[], void*,
                                      const size_t[], const size_t[], ncclDataType_t, ncclComm_t,
                                      cudaStream_t);

namespace gyre::test {
namespace {

struct Size {
  std::size_t bytes;
  int calls;
};
constexpr std::array kSizes = {Size{8, 32}, Size{64 << 10, 12}, Size{4 << 20, 5}};
constexpr std::size_t kLargest = 4 << 20;

struct Buffers {
  float* input;
  float* output;
};

// One rank's part of a call about `elements` in all.
struct Caller {
  ncclComm_t comm;
  int rank;
  int world;
  Buffers buffers;
  std::size_t elements;

  std::size_t block() const {
    return std::max<std::size_t>(1, elements / static_cast<std::size_t>(world));
  }
};

struct Operation {
  const char* name;
  ncclResult_t (*call)(const Caller& on);
};

ncclResult_t exchange_in_a_ring(const Caller& on) {
  const int right = (on.rank + 1) % on.world;
  const int left = (on.rank + on.world - 1) % on.world;
  ncclGroupStart();
  ncclSend(on.buffers.input, on.elements, ncclFloat32, right, on.comm, nullptr);
  ncclRecv(on.buffers.output, on.elements, ncclFloat32, left, on.comm, nullptr);
  return ncclGroupEnd();
}

const std::array kOperations = {
    Operation{"AllReduce",
              [](const Caller& on) {
                return ncclAllReduce(on.buffers.input, on.buffers.output, on.elements, ncclFloat32,
                                     ncclSum, on.comm, nullptr);
              }},
    Operation{"AllReduce in place",
              [](const Caller& on) {
                return ncclAllReduce(on.buffers.output, on.buffers.output, on.elements, ncclFloat32,
                                     ncclMax, on.comm, nullptr);
              }},
    Operation{"AllGather",
              [](const Caller& on) {
                return ncclAllGather(on.buffers.input, on.buffers.output, on.block(), ncclFloat32,
                                     on.comm, nullptr);
              }},
    Operation{"ReduceScatter",
              [](const Caller& on) {
                return ncclReduceScatter(on.buffers.input, on.buffers.output, on.block(),
                                         ncclFloat32, ncclSum, on.comm, nullptr);
              }},
    Operation{"Broadcast",
              [](const Caller& on) {
                return ncclBroadcast(on.buffers.input, on.buffers.output, on.elements, ncclFloat32,
                                     0, on.comm, nullptr);
              }},
    Operation{"Reduce",
              [](const Caller& on) {
                return ncclReduce(on.buffers.input, on.buffers.output, on.elements, ncclFloat32,
                                  ncclSum, 0, on.comm, nullptr);
              }},
    Operation{"AlltoAll",
              [](const Caller& on) {
                return ncclAlltoAll(on.buffers.input, on.buffers.output, on.block(), ncclFloat32,
                                    on.comm, nullptr);
              }},
    Operation{"AlltoAll in place",
              [](const Caller& on) {
                return ncclAlltoAll(on.buffers.output, on.buffers.output, on.block(), ncclFloat32,
                                    on.comm, nullptr);
              }},
    Operation{"Send and Recv", exchange_in_a_ring},
};

// By operation and size.
using Costs = std::array<std::array<Cost, kSizes.size()>, kOperations.size()>;

// The ranks of this thread, driven together.
using Callers = std::vector<Caller>;

bool make(const Operation& operation, const Callers& callers) {
  ncclGroupStart();
  for (const Caller& on : callers) operation.call(on);
  return ncclGroupEnd() == ncclSuccess;
}

bool repeat(const Operation& operation, const Callers& callers, int times) {
  const bool alone = callers.size() == 1;
  for (int i = 0; i < times; ++i) {
    const bool done =
        alone ? operation.call(callers.front()) == ncclSuccess : make(operation, callers);
    if (!done) return false;
  }
  return true;
}

bool measure(Callers& callers, Costs& costs) {
  for (std::size_t o = 0; o < kOperations.size(); ++o) {
    for (std::size_t s = 0; s < kSizes.size(); ++s) {
      for (Caller& on : callers) on.elements = kSizes[s].bytes / sizeof(float);
      CostMeter meter;
      const bool done = repeat(kOperations[o], callers, kSizes[s].calls);
      costs[o][s] = meter.stop();
      if (!done) return false;
    }
  }
  return true;
}

float* touched_memory(bool registered) {
  void* memory = nullptr;
  // Room for a block of one element for each rank.
  const std::size_t bytes = kLargest + 4096;
  if (!registered) {
    memory = std::malloc(bytes);
  } else if (ncclMemAlloc(&memory, bytes) != ncclSuccess) {
    return nullptr;
  }
  std::memset(memory, 1, bytes);
  return static_cast<float*>(memory);
}

// A thread's whole life with its ranks; the value is an exit status.
int live(const std::vector<ncclComm_t>& comms, bool registered, Costs& costs) {
  Callers callers;
  for (const ncclComm_t comm : comms) {
    Caller& on = callers.emplace_back();
    on.comm = comm;
    on.buffers = {touched_memory(registered), touched_memory(registered)};
    ncclCommUserRank(comm, &on.rank);
    ncclCommCount(comm, &on.world);
  }
  for (int pass = 0; pass < 2; ++pass) {
    if (!measure(callers, costs)) return complain("a call");
  }
  // Nobody leaves while others count.
  if (!repeat(kOperations.front(), callers, 1)) return complain("the last call");
  for (const ncclComm_t comm : comms) {
    if (ncclCommDestroy(comm) != ncclSuccess) return complain("destroy");
  }
  return 0;
}

int live_as_rank(ncclUniqueId id, int rank, int world, bool registered, Costs& costs) {
  ncclComm_t comm = nullptr;
  if (ncclCommInitRank(&comm, world, id, rank) != ncclSuccess) return complain("init");
  return live({comm}, registered, costs);
}

enum class Place { group, threads, shm, tcp };

struct Where {
  Place place;
  int world;
  bool registered;
};

std::string name_of(const Where& where) {
  constexpr const char* kPlaces[] = {"Group", "Threads", "Shm", "Tcp"};
  return std::to_string(where.world) + kPlaces[static_cast<int>(where.place)] +
         (where.registered ? "Registered" : "Plain");
}

class Steady : public testing::TestWithParam<Where> {
 protected:
  Steady() : costs_(static_cast<std::size_t>(GetParam().world)) {}

  void run() {
    const Place place = GetParam().place;
    if (place == Place::shm || place == Place::tcp) return run_processes();
    EXPECT_EQ(status_of(in_child([&] { return place == Place::group ? group() : threads(); })), 0);
  }

  bool cost_nothing() const {
    const auto world = static_cast<std::size_t>(GetParam().world);
    const auto nothing = [](const Cost& cost) { return cost.allocations + cost.faults == 0; };
    return std::all_of(costs_.data(), costs_.data() + world, [&](const Costs& of_rank) {
      return std::all_of(of_rank.begin(), of_rank.end(), [&](const auto& of_operation) {
        return std::all_of(of_operation.begin(), of_operation.end(), nothing);
      });
    });
  }

  void expect_nothing() const {
    for (std::size_t rank = 0; rank < static_cast<std::size_t>(GetParam().world); ++rank) {
      for (std::size_t o = 0; o < kOperations.size(); ++o) {
        for (std::size_t s = 0; s < kSizes.size(); ++s) expect_nothing(rank, o, s);
      }
    }
  }

 private:
  void expect_nothing(std::size_t rank, std::size_t o, std::size_t s) const {
    const Cost& cost = costs_[rank][o][s];
    SCOPED_TRACE(std::string(kOperations[o].name) + " of " + std::to_string(kSizes[s].bytes) +
                 " bytes, rank " + std::to_string(rank) + ", " + std::to_string(kSizes[s].calls) +
                 " calls");
    EXPECT_EQ(cost.allocations, 0U);
    EXPECT_EQ(cost.faults, 0U);
  }

  // All counts are those of one thread.
  int group() const {
    std::vector<ncclComm_t> comms(static_cast<std::size_t>(GetParam().world));
    if (ncclCommInitAll(comms.data(), GetParam().world, nullptr) != ncclSuccess) {
      return complain("init");
    }
    return live(comms, GetParam().registered, costs_[0]);
  }

  int threads() const {
    const auto [place, world, registered] = GetParam();
    ncclUniqueId id{};
    if (ncclGetUniqueId(&id) != ncclSuccess) return complain("id");
    std::vector<int> statuses(static_cast<std::size_t>(world));
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < world; ++rank) {
      const auto r = static_cast<std::size_t>(rank);
      threads.emplace_back([&, rank, r, registered = registered, world = world] {
        statuses[r] = live_as_rank(id, rank, world, registered, costs_[r]);
      });
    }
    threads.clear();
    return *std::max_element(statuses.begin(), statuses.end());
  }

  void run_processes() {
    const auto [place, world, registered] = GetParam();
    const Channel ids;
    std::vector<pid_t> children;
    for (int rank = 0; rank < world; ++rank) {
      children.push_back(in_child([&, place = place, world = world, registered = registered] {
        if (place == Place::tcp) apply({{"NCCL_SHM_DISABLE", "1"}});
        ncclUniqueId id{};
        if (rank == 0) {
          if (ncclGetUniqueId(&id) != ncclSuccess) return complain("id");
          for (int other = 1; other < world; ++other) ids.put(id);
        } else if (!ids.get(id)) {
          return complain("no id");
        }
        return live_as_rank(id, rank, world, registered, costs_[static_cast<std::size_t>(rank)]);
      }));
    }
    for (const pid_t child : children) EXPECT_EQ(status_of(child), 0);
  }

  Shared<Costs> costs_;
};

// Tried twice: on a busy machine a rank may wait for so long that it asks the others whether they
// are in the same call, which is no steady state.
TEST_P(Steady, CallsCostNothing) {
  run();
  if (!cost_nothing()) run();
  expect_nothing();
}

std::vector<Where> everywhere() {
  std::vector<Where> all;
  for (const Place place : {Place::group, Place::threads, Place::shm, Place::tcp}) {
    for (const int world : {2, 4}) {
      for (const bool registered : {false, true}) all.push_back({place, world, registered});
    }
  }
  return all;
}

INSTANTIATE_TEST_SUITE_P(, Steady, testing::ValuesIn(everywhere()),
                         [](const auto& test) { return name_of(test.param); });

// Two kinds of call take memory each time, at most this often: one on a stream, to be handed to the
// stream's worker, and one with a count per rank, to keep the counts.
constexpr std::uint64_t kAllocationsToEnqueue = 5;
constexpr std::uint64_t kAllocationsOfCounts = 5;

// The most that a call after the first one allocates; its value is an exit status.
template <typename Call>
int most_allocations(Call call, std::uint64_t allowed) {
  for (int repeat = 0; repeat < 16; ++repeat) {
    CostMeter meter;
    const ncclResult_t result = call();
    const Cost cost = meter.stop();
    if (result != ncclSuccess) return complain("a call");
    if (repeat > 0 && cost.allocations > allowed) return static_cast<int>(cost.allocations);
  }
  return 0;
}

int enqueue_calls() {
  ncclComm_t comm = nullptr;
  gyreDevice_t device = nullptr;
  gyreStream_t stream = nullptr;
  if (ncclCommInitAll(&comm, 1, nullptr) != ncclSuccess) return complain("init");
  if (gyreDeviceOpen(gyreDeviceHost, 0, &device) != gyreSuccess) return complain("device");
  if (gyreStreamCreate(device, &stream) != gyreSuccess) return complain("stream");
  std::array<float, 4> buffer{};
  const auto call = [&] {
    return ncclAllReduce(buffer.data(), buffer.data(), buffer.size(), ncclFloat32, ncclSum, comm,
                         static_cast<cudaStream_t>(stream));
  };
  const int status = most_allocations(call, kAllocationsToEnqueue);
  return gyreStreamSynchronize(device, stream) == gyreSuccess ? status : complain("the stream");
}

int make_calls_with_counts() {
  ncclComm_t comm = nullptr;
  if (ncclCommInitAll(&comm, 1, nullptr) != ncclSuccess) return complain("init");
  float input = 1;
  float output = 0;
  const std::size_t count = 1;
  const std::size_t offset = 0;
  const auto call = [&] {
    return ncclAlltoAllv(&input, &count, &offset, &output, &count, &offset, ncclFloat32, comm,
                         nullptr);
  };
  return most_allocations(call, kAllocationsOfCounts);
}

TEST(SteadyButFor, CallsOnAStream) { EXPECT_EQ(status_of(in_child(enqueue_calls)), 0); }

TEST(SteadyButFor, CallsWithACountForEachRank) {
  EXPECT_EQ(status_of(in_child(make_calls_with_counts)), 0);
}

// The meter sees what the library allocates, and pages that are new.
TEST(CostMeter, SeesAllocationsAndFaults) {
  EXPECT_EQ(status_of(in_child([] {
              CostMeter heap;
              void* memory = nullptr;
              const ncclResult_t result = ncclMemAlloc(&memory, 1 << 20);
              if (result != ncclSuccess || heap.stop().allocations == 0) return 1;
              constexpr std::size_t kPages = 8;
              const auto bytes = kPages * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
              void* fresh = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
              CostMeter pages;
              std::memset(fresh, 1, bytes);
              return pages.stop().faults < kPages ? 2 : 0;
            })),
            0);
}

}  // namespace
}  // namespace gyre::test
