// Groups: what belongs together is issued together, errors wait for the end, and what a group may
// hold.
#include <numeric>

#include "gyre/device.h"
#include "tests/collective/ranks.hpp"

extern "C" ncclResult_t ncclAlltoAllv(const void*, const size_t[], const size_t[], void*,
                                      const size_t[], const size_t[], ncclDataType_t, ncclComm_t,
                                      cudaStream_t);

namespace gyre::test {
namespace {

ncclResult_t sum(float& value, ncclComm_t comm, cudaStream_t stream = nullptr) {
  return ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, stream);
}

TEST(Group, NestedGroupsEndWithTheOutermost) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const int other = 1 - rank;
    int given[2] = {rank, rank + 10}, found[2] = {-1, -1};
    ASSERT_TRUE(ok(ncclGroupStart()));
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclSend(&given[0], 1, ncclInt32, other, comm, nullptr)));
    EXPECT_TRUE(ok(ncclGroupEnd()));
    EXPECT_EQ(found[0], -1);
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclRecv(&found[0], 1, ncclInt32, other, comm, nullptr)));
    EXPECT_TRUE(ok(ncclGroupEnd()));
    EXPECT_TRUE(ok(ncclSend(&given[1], 1, ncclInt32, other, comm, nullptr)));
    EXPECT_TRUE(ok(ncclRecv(&found[1], 1, ncclInt32, other, comm, nullptr)));
    EXPECT_TRUE(ok(ncclGroupEnd()));
    EXPECT_EQ(found[0], other);
    EXPECT_EQ(found[1], other + 10);
  });
}

TEST(Group, EndWithoutStart) {
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  ASSERT_TRUE(ok(ncclGroupStart()));
  EXPECT_TRUE(ok(ncclGroupEnd()));  // an empty one
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
}

// One thread drives all ranks of two communicators of other orders and sizes.
TEST(Group, ManyCommunicators) {
  ncclComm_t first[3] = {}, second[2] = {};
  ASSERT_TRUE(ok(ncclCommInitAll(first, 3, nullptr)));
  ASSERT_TRUE(ok(ncclCommInitAll(second, 2, nullptr)));
  float a[3] = {1, 2, 3}, b[2] = {10, 20};
  int shifted[3] = {-1, -1, -1};
  const int ranks[3] = {0, 1, 2};
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (int i = 2; i >= 0; --i) {
    EXPECT_TRUE(ok(sum(a[i], first[i])));
    if (i < 2) {
      EXPECT_TRUE(ok(sum(b[i], second[i])));
    }
    EXPECT_TRUE(ok(ncclSend(&ranks[i], 1, ncclInt32, (i + 1) % 3, first[i], nullptr)));
    EXPECT_TRUE(ok(ncclRecv(&shifted[i], 1, ncclInt32, (i + 2) % 3, first[i], nullptr)));
  }
  EXPECT_TRUE(ok(ncclGroupEnd()));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(a[i], 6.0F);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(b[i], 30.0F);
  for (int i = 0; i < 3; ++i) EXPECT_EQ(shifted[i], (i + 2) % 3);
  for (ncclComm_t comm : first) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  for (ncclComm_t comm : second) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
}

TEST(Group, AnErrorWaitsForTheEndAndNothingIsLaunched) {
  with_ranks(2, [](ncclComm_t comm, int) {
    float value = 1;
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(sum(value, comm)));
    EXPECT_EQ(ncclBroadcast(&value, &value, 1, ncclFloat32, 9, comm, nullptr), ncclInvalidArgument);
    EXPECT_TRUE(ok(sum(value, comm)));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
    EXPECT_EQ(value, 1.0F);
    // The group is over: the next call runs at once, and matches that of the other rank.
    EXPECT_TRUE(ok(sum(value, comm)));
    EXPECT_EQ(value, 2.0F);
  });
}

TEST(Group, TheLastErrorCounts) {
  with_ranks(1, [](ncclComm_t comm, int) {
    float value = 1;
    const auto not_provided = [&] { return ncclCommSuspend(comm, NCCL_SUSPEND_MEM); };
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_EQ(sum(value, nullptr), ncclInvalidArgument);
    EXPECT_EQ(not_provided(), ncclInvalidUsage);
    EXPECT_TRUE(ok(sum(value, comm)));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_EQ(not_provided(), ncclInvalidUsage);
    EXPECT_EQ(sum(value, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  });
}

TEST(Group, CreatesOrUsesCommunicatorsButNotBoth) {
  ncclComm_t used = nullptr, made = nullptr;
  ASSERT_TRUE(ok(ncclCommInitRank(&used, 1, new_id(), 0)));
  const ncclUniqueId id = new_id();
  float value = 1;
  ASSERT_TRUE(ok(ncclGroupStart()));
  EXPECT_TRUE(ok(ncclCommInitRank(&made, 1, id, 0)));
  EXPECT_TRUE(ok(sum(value, used)));
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  EXPECT_EQ(made, nullptr);
  EXPECT_TRUE(ok(ncclCommDestroy(used)));
}

TEST(Group, BlockingAndNonBlockingDoNotMix) {
  ncclComm_t blocking = nullptr, other = nullptr;
  ASSERT_TRUE(ok(ncclCommInitRank(&blocking, 1, new_id(), 0)));
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 0;
  ncclResult_t state = ncclCommInitRankConfig(&other, 1, new_id(), 0, &config);
  EXPECT_TRUE(state == ncclSuccess || state == ncclInProgress);
  do {
    ASSERT_TRUE(ok(ncclCommGetAsyncError(other, &state)));
    std::this_thread::yield();
  } while (state == ncclInProgress);
  EXPECT_TRUE(ok(state));
  float a = 1, b = 1;
  ASSERT_TRUE(ok(ncclGroupStart()));
  EXPECT_TRUE(ok(sum(a, blocking)));
  const ncclResult_t queued = sum(b, other);
  EXPECT_TRUE(queued == ncclSuccess || queued == ncclInProgress);
  EXPECT_EQ(ncclGroupEnd(), ncclInvalidArgument);
  EXPECT_TRUE(ok(ncclCommDestroy(blocking)));
  EXPECT_TRUE(ok(ncclCommDestroy(other)));
}

TEST(Group, InitRankOfAllRanksByOneThread) {
  constexpr int kWorld = 4;
  const ncclUniqueId id = new_id();
  ncclComm_t comms[kWorld] = {};
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (int rank = 0; rank < kWorld; ++rank) {
    EXPECT_TRUE(ok(ncclCommInitRank(&comms[rank], kWorld, id, rank)));
  }
  const std::vector<ncclComm_t> given(comms, comms + kWorld);
  ASSERT_TRUE(ok(ncclGroupEnd()));
  EXPECT_EQ(std::vector<ncclComm_t>(comms, comms + kWorld), given) << "handles stay what they are";
  float values[kWorld] = {1, 2, 3, 4};
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (int rank = 0; rank < kWorld; ++rank) EXPECT_TRUE(ok(sum(values[rank], comms[rank])));
  EXPECT_TRUE(ok(ncclGroupEnd()));
  for (const float value : values) EXPECT_EQ(value, 10.0F);
  for (ncclComm_t comm : comms) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
}

TEST(Group, SendsToOneselfNeedTheirReceive) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    const std::vector<int> given = {7 + rank, 8, 9};
    std::vector<int> found(3, -1);
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclRecv(&found[0], 1, ncclInt32, rank, comm, nullptr)));
    EXPECT_TRUE(ok(ncclSend(&given[0], 1, ncclInt32, rank, comm, nullptr)));
    EXPECT_TRUE(ok(ncclSend(&given[1], 2, ncclInt32, rank, comm, nullptr)));
    EXPECT_TRUE(ok(ncclRecv(&found[1], 2, ncclInt32, rank, comm, nullptr)));
    EXPECT_TRUE(ok(ncclGroupEnd()));
    EXPECT_EQ(found, given);
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclSend(&given[0], 1, ncclInt32, rank, comm, nullptr)));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
    EXPECT_EQ(ncclRecv(&found[0], 1, ncclInt32, rank, comm, nullptr), ncclInvalidUsage);
    // A usage error of one rank alone breaks nothing.
    float value = 1;
    EXPECT_TRUE(ok(sum(value, comm)));
    EXPECT_EQ(value, 2.0F);
  });
}

// More messages per pair than a lane has slots, of mixed sizes, in order; both directions at once.
TEST(Group, MessagesOfOnePairKeepTheirOrder) {
  constexpr int kWorld = 3;
  constexpr std::size_t kMessages = 40;
  with_ranks(kWorld, [](ncclComm_t comm, int rank) {
    const auto length = [](std::size_t i) { return i % 7 == 3 ? 50'000 + i : i % 5; };
    const auto word = [](int from, int to, std::size_t i) {
      return static_cast<std::int32_t>(i) * 100 + from * 10 + to;
    };
    std::vector<std::vector<std::int32_t>> sent, received;
    std::vector<std::pair<int, std::size_t>> order;
    for (std::size_t i = 0; i < kMessages; ++i) {
      for (int peer = 0; peer < kWorld; ++peer) {
        sent.emplace_back(length(i), word(rank, peer, i));
        received.emplace_back(length(i), -1);
        order.emplace_back(peer, i);
      }
    }
    ASSERT_TRUE(ok(ncclGroupStart()));
    for (std::size_t k = 0; k < order.size(); ++k) {
      EXPECT_TRUE(
          ok(ncclSend(sent[k].data(), sent[k].size(), ncclInt32, order[k].first, comm, nullptr)));
    }
    for (std::size_t k = 0; k < order.size(); ++k) {
      EXPECT_TRUE(ok(ncclRecv(received[k].data(), received[k].size(), ncclInt32, order[k].first,
                              comm, nullptr)));
    }
    ASSERT_TRUE(ok(ncclGroupEnd()));
    for (std::size_t k = 0; k < order.size(); ++k) {
      const std::vector<std::int32_t> wanted(received[k].size(),
                                             word(order[k].first, rank, order[k].second));
      EXPECT_EQ(received[k], wanted) << "message " << order[k].second;
    }
  });
}

TEST(Group, CollectivesAndMessagesTogether) {
  constexpr int kWorld = 3;
  with_ranks(kWorld, [](ncclComm_t comm, int rank) {
    const int right = (rank + 1) % kWorld, left = (rank + kWorld - 1) % kWorld;
    for (int round = 0; round < 20; ++round) {
      float a = 1, b = static_cast<float>(rank);
      std::vector<std::int32_t> block(1000 + static_cast<std::size_t>(round), rank);
      std::vector<std::int32_t> all(block.size() * kWorld, -1), shifted(block.size(), -1);
      const std::vector<std::size_t> one_each(kWorld, 1), offsets = {0, 1, 2};
      std::vector<std::int32_t> mine = {rank, rank, rank}, theirs(3, -1), again(3, -1);
      ASSERT_TRUE(ok(ncclGroupStart()));
      EXPECT_TRUE(ok(sum(a, comm)));
      EXPECT_TRUE(ok(ncclSend(block.data(), block.size(), ncclInt32, right, comm, nullptr)));
      EXPECT_TRUE(ok(ncclAlltoAllv(mine.data(), one_each.data(), offsets.data(), theirs.data(),
                                   one_each.data(), offsets.data(), ncclInt32, comm, nullptr)));
      EXPECT_TRUE(
          ok(ncclAllGather(block.data(), all.data(), block.size(), ncclInt32, comm, nullptr)));
      EXPECT_TRUE(ok(ncclRecv(shifted.data(), shifted.size(), ncclInt32, left, comm, nullptr)));
      EXPECT_TRUE(ok(ncclAlltoAllv(mine.data(), one_each.data(), offsets.data(), again.data(),
                                   one_each.data(), offsets.data(), ncclInt32, comm, nullptr)));
      EXPECT_TRUE(ok(ncclAllReduce(&b, &b, 1, ncclFloat32, ncclMax, comm, nullptr)));
      ASSERT_TRUE(ok(ncclGroupEnd()));
      EXPECT_EQ(a, 3.0F);
      EXPECT_EQ(b, 2.0F);
      EXPECT_EQ(shifted, std::vector<std::int32_t>(block.size(), left));
      EXPECT_EQ(theirs, (std::vector<std::int32_t>{0, 1, 2}));
      EXPECT_EQ(again, theirs);
      for (std::size_t i = 0; i < all.size(); ++i) {
        ASSERT_EQ(all[i], static_cast<std::int32_t>(i / block.size()));
      }
    }
  });
}

// All streams of a group wait for its work, and it for theirs.
TEST(Group, SeveralStreams) {
  with_ranks(2, [](ncclComm_t comm, int) {
    gyreDevice_t device = nullptr;
    gyreStream_t streams[2] = {};
    ASSERT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device), gyreSuccess);
    for (gyreStream_t& stream : streams) {
      ASSERT_EQ(gyreStreamCreate(device, &stream), gyreSuccess);
    }
    std::vector<float> a(100'000, 0), b(100'000, 0), copy_a(a), copy_b(b);
    const std::vector<float> ones(a.size(), 1), twos(a.size(), 2);
    const std::size_t bytes = a.size() * sizeof(float);
    for (int round = 0; round < 10; ++round) {
      EXPECT_EQ(gyreDeviceCopyAsync(device, a.data(), ones.data(), bytes, streams[0]), gyreSuccess);
      EXPECT_EQ(gyreDeviceCopyAsync(device, b.data(), twos.data(), bytes, streams[1]), gyreSuccess);
      ASSERT_TRUE(ok(ncclGroupStart()));
      EXPECT_TRUE(
          ok(ncclAllReduce(a.data(), a.data(), a.size(), ncclFloat32, ncclSum, comm, streams[0])));
      EXPECT_TRUE(
          ok(ncclAllReduce(b.data(), b.data(), b.size(), ncclFloat32, ncclSum, comm, streams[1])));
      ASSERT_TRUE(ok(ncclGroupEnd()));
      // Crosswise: each stream waited for the whole group.
      EXPECT_EQ(gyreDeviceCopyAsync(device, copy_b.data(), b.data(), bytes, streams[0]),
                gyreSuccess);
      EXPECT_EQ(gyreDeviceCopyAsync(device, copy_a.data(), a.data(), bytes, streams[1]),
                gyreSuccess);
      for (gyreStream_t stream : streams) {
        EXPECT_EQ(gyreStreamSynchronize(device, stream), gyreSuccess);
      }
      ASSERT_EQ(copy_a, twos);
      ASSERT_EQ(copy_b, std::vector<float>(b.size(), 4));
    }
    for (gyreStream_t stream : streams) {
      EXPECT_EQ(gyreStreamDestroy(device, stream), gyreSuccess);
    }
    EXPECT_EQ(gyreDeviceClose(device), gyreSuccess);
  });
}

// A call without a stream has ended when the group's end returns, whatever the others are.
TEST(Group, CallWithoutStreamBesideCallsWithOne) {
  with_ranks(2, [](ncclComm_t comm, int) {
    gyreDevice_t device = nullptr;
    gyreStream_t stream = nullptr;
    ASSERT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device), gyreSuccess);
    ASSERT_EQ(gyreStreamCreate(device, &stream), gyreSuccess);
    for (int round = 0; round < 50; ++round) {
      float now = 1, queued = 2;
      ASSERT_TRUE(ok(ncclGroupStart()));
      EXPECT_TRUE(ok(sum(queued, comm, stream)));
      EXPECT_TRUE(ok(sum(now, comm)));
      ASSERT_TRUE(ok(ncclGroupEnd()));
      EXPECT_EQ(now, 2.0F);
      EXPECT_EQ(gyreStreamSynchronize(device, stream), gyreSuccess);
      EXPECT_EQ(queued, 4.0F);
    }
    EXPECT_EQ(gyreStreamDestroy(device, stream), gyreSuccess);
    EXPECT_EQ(gyreDeviceClose(device), gyreSuccess);
  });
}

TEST(Group, SimulateEndDropsTheGroup) {
  with_ranks(1, [](ncclComm_t comm, int) {
    float value = 1;
    ncclSimInfo_t info = NCCL_SIM_INFO_INITIALIZER;
    ASSERT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, nullptr)));
    EXPECT_TRUE(ok(ncclGroupSimulateEnd(&info)));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
}

}  // namespace
}  // namespace gyre::test
