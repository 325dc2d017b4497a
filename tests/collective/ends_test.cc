// How communicators end while something else goes on, and errors that must not get lost.
#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "gyre/device.h"
#include "tests/collective/forked.hpp"
#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

class Host {
 public:
  Host() { EXPECT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device_), gyreSuccess); }
  ~Host() {
    for (const gyreStream_t stream : streams_) (void)gyreStreamDestroy(device_, stream);
    (void)gyreDeviceClose(device_);
  }
  gyreStream_t stream() {
    gyreStream_t made = nullptr;
    EXPECT_EQ(gyreStreamCreate(device_, &made), gyreSuccess);
    streams_.push_back(made);
    return made;
  }
  gyreResult synchronize(gyreStream_t stream) { return gyreStreamSynchronize(device_, stream); }

 private:
  gyreDevice_t device_ = nullptr;
  std::vector<gyreStream_t> streams_;
};

cudaStream_t as_cuda(gyreStream_t stream) { return reinterpret_cast<cudaStream_t>(stream); }

std::vector<ncclComm_t> init_all(int world) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(world));
  EXPECT_TRUE(ok(ncclCommInitAll(comms.data(), world, nullptr)));
  return comms;
}

std::vector<ncclComm_t> init_all_non_blocking(int world) {
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(world));
  ncclUniqueId id;
  EXPECT_TRUE(ok(ncclGetUniqueId(&id)));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  EXPECT_TRUE(ok(ncclGroupStart()));
  for (int rank = 0; rank < world; ++rank) {
    EXPECT_EQ(
        ncclCommInitRankConfig(&comms[static_cast<std::size_t>(rank)], world, id, rank, &config),
        ncclSuccess);
  }
  (void)ncclGroupEnd();
  return comms;
}

ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  const auto end = Clock::now() + 20s;
  while (state == ncclInProgress && Clock::now() < end) {
    EXPECT_TRUE(ok(ncclCommGetAsyncError(comm, &state)));
    std::this_thread::yield();
  }
  return state;
}

void abort_all(const std::vector<ncclComm_t>& comms) {
  for (const ncclComm_t comm : comms) (void)ncclCommAbort(comm);
}

ncclResult_t sum_one(float& value, ncclComm_t comm, gyreStream_t stream) {
  return ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, as_cuda(stream));
}

std::string last_error() { return ncclGetLastError(nullptr); }

// At random moments of what the other thread does.
void wait_up_to(int microseconds, unsigned& seed) {
  seed = seed * 1'664'525U + 1'013'904'223U;
  const auto until =
      Clock::now() + std::chrono::microseconds(seed / 8 % static_cast<unsigned>(microseconds));
  while (Clock::now() < until) {
  }
}

// A static object of the program's may be destroyed after the library's own.
struct LateUser {
  ncclComm_t comm = nullptr;
  ~LateUser() {
    if (comm != nullptr) ::_exit(ncclCommDestroy(comm) == ncclInvalidArgument ? 0 : 2);
  }
};

// First: it forks, and no child of a process that used Gyre may use it.
TEST(Ends, ErrorsAtTheEndOfTheProcess) {
  const pid_t child = in_child([] {
    static LateUser user;
    const auto comms = init_all(1);
    (void)ncclCommDestroy(comms[0]);
    (void)ncclCommDestroy(comms[0]);
    user.comm = comms[0];
    std::exit(3);
    return 3;
  });
  EXPECT_EQ(status_of(child), 0);
}

TEST(Ends, AbortDuringASplit) {
  for (int round = 0; round < 5; ++round) {
    const auto comms = init_all(2);
    ncclResult_t split = ncclSuccess;
    std::thread splitting([&] {
      ncclComm_t child = nullptr;
      split = ncclCommSplit(comms[0], 0, 0, &child, nullptr);
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20 * round));
    const auto begin = Clock::now();
    EXPECT_TRUE(ok(ncclCommAbort(comms[0])));
    EXPECT_LT(Clock::now() - begin, 2s);
    splitting.join();
    EXPECT_NE(split, ncclSuccess);
    (void)ncclCommAbort(comms[1]);
  }
}

TEST(Ends, AbortWhileAGroupOpens) {
  unsigned seed = 7;
  for (int round = 0; round < 60; ++round) {
    ncclUniqueId id;
    ASSERT_TRUE(ok(ncclGetUniqueId(&id)));
    std::array<std::atomic<ncclComm_t>, 2> given{};
    const auto open = [&](int rank) {
      ncclComm_t comm = nullptr;
      (void)ncclGroupStart();
      (void)ncclCommInitRank(&comm, 2, id, rank);
      given[static_cast<std::size_t>(rank)] = comm;
      (void)ncclGroupEnd();
      return comm;
    };
    std::thread first([&] { (void)open(0); });
    ncclComm_t second_comm = nullptr;
    std::thread second([&] { second_comm = open(1); });
    while (given[0] == nullptr) std::this_thread::yield();
    wait_up_to(6000, seed);
    (void)ncclCommAbort(given[0]);
    first.join();
    second.join();
    if (second_comm != nullptr) (void)ncclCommAbort(second_comm);
  }
}

void expect_two_splits(const std::vector<ncclComm_t>& comms) {
  const int world = static_cast<int>(comms.size());
  std::vector<ncclComm_t> forward(comms.size()), backward(comms.size());
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (std::size_t i = 0; i < comms.size(); ++i) {
    const int rank = static_cast<int>(i);
    (void)ncclCommSplit(comms[i], 0, rank, &forward[i], nullptr);
    (void)ncclCommSplit(comms[i], 0, -rank, &backward[i], nullptr);
  }
  const ncclResult_t ended = ncclGroupEnd();
  ASSERT_TRUE(ended == ncclSuccess || ended == ncclInProgress) << last_error();
  for (std::size_t i = 0; i < comms.size(); ++i) {
    ASSERT_EQ(settled(comms[i]), ncclSuccess) << last_error();
    int rank = -1;
    ASSERT_TRUE(ok(ncclCommUserRank(forward[i], &rank)));
    EXPECT_EQ(rank, static_cast<int>(i));
    ASSERT_TRUE(ok(ncclCommUserRank(backward[i], &rank)));
    EXPECT_EQ(rank, world - 1 - static_cast<int>(i));
  }
  abort_all(forward);
  abort_all(backward);
}

TEST(Ends, TwoSplitsOfOneParentInAGroup) {
  const auto comms = init_all(3);
  for (int round = 0; round < 10 && !testing::Test::HasFailure(); ++round) {
    expect_two_splits(comms);
  }
  abort_all(comms);
}

TEST(Ends, TwoSplitsOfOneNonBlockingParentInAGroup) {
  const auto comms = init_all_non_blocking(3);
  for (const ncclComm_t comm : comms) ASSERT_EQ(settled(comm), ncclSuccess);
  for (int round = 0; round < 10 && !testing::Test::HasFailure(); ++round) {
    expect_two_splits(comms);
  }
  abort_all(comms);
}

TEST(Ends, ABackgroundCallThatFailsIsTold) {
  const auto comms = init_all_non_blocking(1);
  ASSERT_EQ(settled(comms[0]), ncclSuccess);
  float value = 1;
  // To itself, and nobody receives it.
  EXPECT_EQ(ncclSend(&value, 1, ncclFloat32, 0, comms[0], nullptr), ncclInProgress);
  EXPECT_EQ(settled(comms[0]), ncclInvalidUsage);
  abort_all(comms);
}

// The second stream of rank 0's calls runs rank 1's as well.
TEST(Ends, StreamsOfAGroupThatTouch) {
  Host host;
  const gyreStream_t first = host.stream(), second = host.stream();
  const auto comms = init_all(2);
  float values[4] = {1, 2, 3, 4};
  ASSERT_TRUE(ok(ncclGroupStart()));
  EXPECT_TRUE(ok(sum_one(values[0], comms[0], first)));
  EXPECT_TRUE(ok(sum_one(values[1], comms[0], second)));
  EXPECT_TRUE(ok(sum_one(values[2], comms[1], second)));
  EXPECT_TRUE(ok(sum_one(values[3], comms[1], second)));
  ASSERT_TRUE(ok(ncclGroupEnd()));
  EXPECT_EQ(host.synchronize(first), gyreSuccess);
  EXPECT_EQ(host.synchronize(second), gyreSuccess);
  EXPECT_EQ(values[0], 4);
  EXPECT_EQ(values[1], 6);
  EXPECT_EQ(values[2], 4);
  EXPECT_EQ(values[3], 6);
  abort_all(comms);
}

// ThreadSanitizer makes a fold some ten times slower, and it is between folds that aborts are seen.
#ifdef __SANITIZE_THREAD__
constexpr int kSlowdown = 10;
#else
constexpr int kSlowdown = 1;
#endif

// Nothing ever blocks on one rank; there are tens of seconds of work.
TEST(Ends, AbortStopsACallThatMoves) {
  Host host;
  const gyreStream_t stream = host.stream();
  const auto comms = init_all(1);
  constexpr std::size_t kCount = 4 << 20;
  std::vector<double> input(kCount, 1.0), output(kCount);
  const double factor = 1.5;
  ncclRedOp_t scaled{};
  ASSERT_TRUE(ok(ncclRedOpCreatePreMulSum(&scaled, const_cast<double*>(&factor), ncclFloat64,
                                          ncclScalarHostImmediate, comms[0])));
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (int i = 0; i < 1000; ++i) {
    (void)ncclAllReduce(input.data(), output.data(), kCount, ncclFloat64, scaled, comms[0],
                        as_cuda(stream));
  }
  ASSERT_TRUE(ok(ncclGroupEnd()));
  std::this_thread::sleep_for(50ms);
  const auto begin = Clock::now();
  EXPECT_TRUE(ok(ncclCommAbort(comms[0])));
  EXPECT_NE(host.synchronize(stream), gyreSuccess);
  EXPECT_LT(Clock::now() - begin, 2s * kSlowdown);
}

TEST(Ends, NonBlockingFinalizeFlushes) {
  Host host;
  const gyreStream_t first = host.stream(), second = host.stream();
  const auto comms = init_all_non_blocking(2);
  for (const ncclComm_t comm : comms) ASSERT_EQ(settled(comm), ncclSuccess);
  float mine = 1, theirs = 2;
  (void)sum_one(mine, comms[0], first);
  EXPECT_EQ(ncclCommFinalize(comms[0]), ncclInProgress);
  ncclResult_t state = ncclSuccess;
  EXPECT_TRUE(ok(ncclCommGetAsyncError(comms[0], &state)));
  EXPECT_EQ(state, ncclInProgress);
  (void)sum_one(theirs, comms[1], second);
  EXPECT_EQ(settled(comms[0]), ncclSuccess);
  EXPECT_EQ(mine, 3);
  EXPECT_TRUE(ok(ncclCommDestroy(comms[0])));
  EXPECT_EQ(host.synchronize(second), gyreSuccess);
  EXPECT_EQ(theirs, 3);
  EXPECT_TRUE(ok(ncclCommDestroy(comms[1])));
}

TEST(Ends, CountsThatNoBufferCanHoldAreRefused) {
  const auto comms = init_all(1);
  std::vector<float> data(16, 1.0F);
  for (const std::size_t count : {SIZE_MAX, SIZE_MAX / 2, std::size_t{1} << 62}) {
    EXPECT_EQ(
        ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, comms[0], nullptr),
        ncclInvalidArgument);
    EXPECT_NE(last_error().find("at most"), std::string::npos) << last_error();
    EXPECT_EQ(ncclSend(data.data(), count, ncclFloat32, 0, comms[0], nullptr), ncclInvalidArgument);
  }
  EXPECT_EQ(data[0], 1.0F);
  abort_all(comms);
}

TEST(Ends, AReductionBelongsToItsCommunicator) {
  const auto one = init_all(1), other = init_all(1);
  float two = 2, three = 3, value = 1, result = 0;
  ncclRedOp_t of_one{}, of_other{};
  const auto immediate = ncclScalarHostImmediate;
  ASSERT_TRUE(ok(ncclRedOpCreatePreMulSum(&of_one, &two, ncclFloat32, immediate, one[0])));
  ASSERT_TRUE(ok(ncclRedOpCreatePreMulSum(&of_other, &three, ncclFloat32, immediate, other[0])));
  EXPECT_EQ(ncclAllReduce(&value, &result, 1, ncclFloat32, of_one, other[0], nullptr),
            ncclInvalidArgument);
  EXPECT_TRUE(ok(ncclAllReduce(&value, &result, 1, ncclFloat32, of_other, other[0], nullptr)));
  EXPECT_EQ(result, 3);
  // A destroyed one does not come back under its old name.
  ASSERT_TRUE(ok(ncclRedOpDestroy(of_one, one[0])));
  ncclRedOp_t next{};
  ASSERT_TRUE(ok(ncclRedOpCreatePreMulSum(&next, &three, ncclFloat32, immediate, one[0])));
  EXPECT_EQ(ncclAllReduce(&value, &result, 1, ncclFloat32, of_one, one[0], nullptr),
            ncclInvalidArgument);
  abort_all(one);
  abort_all(other);
}

TEST(Ends, AGroupDoesNotTellAStreamsOldError) {
  Host host;
  const gyreStream_t stream = host.stream();
  const auto broken = init_all(2);
  float value = 1, other = 1;
  (void)sum_one(value, broken[0], stream);
  (void)ncclCommAbort(broken[1]);
  EXPECT_NE(host.synchronize(stream), gyreSuccess);
  (void)ncclCommAbort(broken[0]);
  const auto healthy = init_all(1);
  ASSERT_TRUE(ok(ncclGroupStart()));
  EXPECT_TRUE(ok(sum_one(value, healthy[0], stream)));
  EXPECT_TRUE(ok(sum_one(other, healthy[0], nullptr)));
  EXPECT_TRUE(ok(ncclGroupEnd()));
  abort_all(healthy);
}

TEST(Ends, SimulatingAGroupTellsItsError) {
  const auto comms = init_all(1);
  float value = 1;
  ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
  ASSERT_TRUE(ok(ncclGroupStart()));
  (void)ncclAllReduce(&value, &value, 1, static_cast<ncclDataType_t>(ncclNumTypes + 1), ncclSum,
                      comms[0], nullptr);
  EXPECT_EQ(ncclGroupSimulateEnd(&info), ncclInvalidArgument);
  ASSERT_TRUE(ok(ncclGroupStart()));
  ncclSimInfo_t nothing{};
  EXPECT_EQ(ncclGroupSimulateEnd(&nothing), ncclInvalidArgument);
  abort_all(comms);
}

}  // namespace
}  // namespace gyre::test
