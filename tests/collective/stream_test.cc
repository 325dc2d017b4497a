// Calls on host streams, several threads with communicators of their own, and non-blocking
// communicators.
#include <atomic>

#include "gyre/device.h"
#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

// The host device and streams of one rank.
class Streams {
 public:
  explicit Streams(std::size_t count) : streams_(count) {
    EXPECT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device_), gyreSuccess);
    for (gyreStream_t& stream : streams_) {
      EXPECT_EQ(gyreStreamCreate(device_, &stream), gyreSuccess);
    }
  }
  ~Streams() {
    for (gyreStream_t stream : streams_) {
      // A stream whose work failed says so to the end.
      EXPECT_EQ(gyreStreamDestroy(device_, stream), failed_ ? gyreErrorWork : gyreSuccess);
    }
    EXPECT_EQ(gyreDeviceClose(device_), gyreSuccess);
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;

  gyreDevice_t device() const { return device_; }
  gyreStream_t operator[](std::size_t i) const { return streams_[i]; }
  gyreResult synchronize(std::size_t i) {
    const gyreResult result = gyreStreamSynchronize(device_, streams_[i]);
    failed_ = failed_ || result != gyreSuccess;
    return result;
  }

 private:
  gyreDevice_t device_ = nullptr;
  std::vector<gyreStream_t> streams_;
  bool failed_ = false;
};

// What must be true soon; false after 20 s.
bool eventually(const std::function<bool()>& condition) {
  const auto until = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > until) return false;
    std::this_thread::yield();
  }
  return true;
}

TEST(Stream, ACallReturnsBeforeItsPeersTakePart) {
  std::barrier issued(2);
  with_ranks(2, [&](ncclComm_t comm, int rank) {
    Streams streams(1);
    float value = 1;
    if (rank == 1) issued.arrive_and_wait();
    EXPECT_TRUE(ok(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, streams[0])));
    if (rank == 0) {
      EXPECT_EQ(gyreStreamQuery(streams.device(), streams[0]), gyreErrorNotReady);
      issued.arrive_and_wait();
    }
    EXPECT_EQ(streams.synchronize(0), gyreSuccess);
    EXPECT_EQ(value, 2.0F);
  });
}

// Producer on one stream, collective on another, consumer on the first, ordered by events.
TEST(Stream, EventsOrderCallsWithOtherWork) {
  with_ranks(2, [](ncclComm_t comm, int) {
    Streams streams(2);
    gyreDevice_t device = streams.device();
    gyreEvent_t produced = nullptr, reduced = nullptr;
    ASSERT_EQ(gyreEventCreate(device, &produced), gyreSuccess);
    ASSERT_EQ(gyreEventCreate(device, &reduced), gyreSuccess);
    constexpr std::size_t kCount = 50'000;
    std::vector<std::int32_t> data(kCount), copy(kCount);
    for (std::int32_t round = 1; round <= 20; ++round) {
      const std::vector<std::int32_t> given(kCount, round);
      const std::size_t bytes = kCount * sizeof(std::int32_t);
      EXPECT_EQ(gyreDeviceCopyAsync(device, data.data(), given.data(), bytes, streams[0]),
                gyreSuccess);
      EXPECT_EQ(gyreEventRecord(device, produced, streams[0]), gyreSuccess);
      EXPECT_EQ(gyreStreamWaitEvent(device, streams[1], produced), gyreSuccess);
      EXPECT_TRUE(ok(
          ncclAllReduce(data.data(), data.data(), kCount, ncclInt32, ncclSum, comm, streams[1])));
      EXPECT_EQ(gyreEventRecord(device, reduced, streams[1]), gyreSuccess);
      EXPECT_EQ(gyreStreamWaitEvent(device, streams[0], reduced), gyreSuccess);
      EXPECT_EQ(gyreDeviceCopyAsync(device, copy.data(), data.data(), bytes, streams[0]),
                gyreSuccess);
      ASSERT_EQ(streams.synchronize(0), gyreSuccess);
      ASSERT_EQ(copy, std::vector<std::int32_t>(kCount, 2 * round));
    }
    EXPECT_EQ(gyreEventDestroy(device, produced), gyreSuccess);
    EXPECT_EQ(gyreEventDestroy(device, reduced), gyreSuccess);
  });
}

// Calls run in the order of their issue, though their streams know nothing of each other.
TEST(Stream, CallsOnSeveralStreamsKeepTheOrderOfIssue) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    Streams streams(3);
    constexpr std::size_t kCalls = 90;
    std::vector<std::int64_t> values(kCalls);
    for (std::size_t i = 0; i < kCalls; ++i) {
      values[i] = static_cast<std::int64_t>(i) * 10 + rank;
      // Each rank spreads the calls in its own way.
      const std::size_t stream = (i * static_cast<std::size_t>(rank + 1)) % 3;
      EXPECT_TRUE(ok(ncclAllReduce(&values[i], &values[i], 1, ncclInt64, ncclSum, comm,
                                   i % 10 == 9 ? nullptr : streams[stream])));
    }
    for (std::size_t s = 0; s < 3; ++s) EXPECT_EQ(streams.synchronize(s), gyreSuccess);
    for (std::size_t i = 0; i < kCalls; ++i) {
      ASSERT_EQ(values[i], static_cast<std::int64_t>(i) * 30 + 3);
    }
  });
}

TEST(Stream, ErrorsSurfaceWhenSynchronizing) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    Streams streams(1);
    std::vector<float> data(64, 1);
    // Ranks disagree about the count; the issue itself is fine on both.
    EXPECT_TRUE(ok(ncclAllReduce(data.data(), data.data(), rank == 0 ? 32 : 33, ncclFloat32,
                                 ncclSum, comm, streams[0])));
    EXPECT_EQ(streams.synchronize(0), gyreErrorWork);
    EXPECT_NE(std::string(gyreDeviceLastError()).find("disagree"), std::string::npos)
        << gyreDeviceLastError();
    EXPECT_EQ(streams.synchronize(0), gyreErrorWork);  // it stays
    ncclResult_t state = ncclSuccess;
    EXPECT_TRUE(ok(ncclCommGetAsyncError(comm, &state)));
    EXPECT_TRUE(state == ncclInvalidUsage || state == ncclRemoteError) << state;
    const ncclResult_t next =
        ncclAllReduce(data.data(), data.data(), 1, ncclFloat32, ncclSum, comm, nullptr);
    EXPECT_TRUE(next == ncclInvalidUsage || next == ncclRemoteError) << next;
  });
}

TEST(Stream, RefusesWhatIsNoStream) {
  with_ranks(1, [](ncclComm_t comm, int) {
    float value = 1;
    std::vector<std::uint64_t> memory(64);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm,
                            reinterpret_cast<cudaStream_t>(memory.data())),
              ncclInvalidArgument);
  });
}

// Two worlds at once, each with threads of its own, blocking and on streams.
TEST(Threads, WithCommunicatorsOfTheirOwn) {
  constexpr int kWorlds = 3;
  constexpr int kWorld = 2;
  std::vector<ncclUniqueId> ids;
  for (int i = 0; i < kWorlds; ++i) ids.push_back(new_id());
  on_threads(kWorlds * kWorld, [&](int thread) {
    const int world = thread / kWorld, rank = thread % kWorld;
    ncclComm_t comm = nullptr;
    ASSERT_TRUE(ok(ncclCommInitRank(&comm, kWorld, ids[static_cast<std::size_t>(world)], rank)));
    {
      Streams streams(1);
      std::vector<float> data(20'000, 1);
      for (int round = 0; round < 60; ++round) {
        std::fill(data.begin(), data.end(), static_cast<float>(world + 1));
        const gyreStream_t stream = (round + world) % 2 == 0 ? streams[0] : nullptr;
        EXPECT_TRUE(ok(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat32, ncclSum,
                                     comm, stream)));
        if (stream != nullptr) {
          EXPECT_EQ(streams.synchronize(0), gyreSuccess);
        }
        ASSERT_EQ(data, std::vector<float>(data.size(), static_cast<float>(2 * (world + 1))));
      }
    }
    EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  });
}

ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  EXPECT_TRUE(eventually([&] {
    return ncclCommGetAsyncError(comm, &state) == ncclSuccess && state != ncclInProgress;
  }));
  return state;
}

TEST(NonBlocking, InitCallsSplitAndFinalize) {
  const ncclUniqueId id = new_id();
  on_threads(2, [&](int rank) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    ncclComm_t comm = nullptr;
    const ncclResult_t started = ncclCommInitRankConfig(&comm, 2, id, rank, &config);
    ASSERT_TRUE(started == ncclSuccess || started == ncclInProgress) << started;
    ASSERT_NE(comm, nullptr);
    ASSERT_EQ(settled(comm), ncclSuccess);
    float value = 1;
    const ncclResult_t issued =
        ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, nullptr);
    ASSERT_TRUE(issued == ncclSuccess || issued == ncclInProgress) << issued;
    ASSERT_EQ(settled(comm), ncclSuccess);
    EXPECT_EQ(value, 2.0F);
    ncclComm_t child = nullptr;
    const ncclResult_t split = ncclCommSplit(comm, 0, -rank, &child, nullptr);
    ASSERT_TRUE(split == ncclSuccess || split == ncclInProgress) << split;
    ASSERT_EQ(settled(comm), ncclSuccess);
    ASSERT_NE(child, nullptr);
    ASSERT_EQ(settled(child), ncclSuccess);
    int child_rank = -1;
    EXPECT_TRUE(ok(ncclCommUserRank(child, &child_rank)));
    EXPECT_EQ(child_rank, 1 - rank);
    const ncclResult_t finalized = ncclCommFinalize(comm);
    EXPECT_TRUE(finalized == ncclSuccess || finalized == ncclInProgress) << finalized;
    EXPECT_EQ(settled(comm), ncclSuccess);
    EXPECT_TRUE(ok(ncclCommDestroy(child)));
    EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  });
}

// Using a communicator that still opens is refused, harmlessly.
TEST(NonBlocking, CallsMadeTooEarly) {
  const ncclUniqueId id = new_id();
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclComm_t comms[2] = {};
  float value = 1;
  (void)ncclCommInitRankConfig(&comms[0], 2, id, 0, &config);
  ASSERT_NE(comms[0], nullptr);
  ncclResult_t state{};
  EXPECT_TRUE(ok(ncclCommGetAsyncError(comms[0], &state)));
  EXPECT_EQ(state, ncclInProgress);  // rank 1 is missing
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comms[0], nullptr),
            ncclInvalidArgument);
  (void)ncclCommInitRankConfig(&comms[1], 2, id, 1, &config);
  for (ncclComm_t comm : comms) EXPECT_EQ(settled(comm), ncclSuccess);
  for (ncclComm_t comm : comms) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
}

}  // namespace
}  // namespace gyre::test
