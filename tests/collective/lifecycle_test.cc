// Communicators from birth to death: ways to make them, splits, one-rank worlds, arguments, ends.
#include <nccl.h>

#include <cstring>
#include <numeric>

#include "gyre/gyre.hpp"
#include "tests/collective/ranks.hpp"
#include "tests/collective/values.hpp"

namespace gyre::test {
namespace {

float summed(float value, ncclComm_t comm) {
  EXPECT_TRUE(ok(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, nullptr)));
  return value;
}

int rank_of(ncclComm_t comm) {
  int rank = -1;
  EXPECT_TRUE(ok(ncclCommUserRank(comm, &rank)));
  return rank;
}

int count_of(ncclComm_t comm) {
  int size = -1;
  EXPECT_TRUE(ok(ncclCommCount(comm, &size)));
  return size;
}

TEST(Split, ByColorAndKey) {
  constexpr int kWorld = 6;
  with_ranks(kWorld, [](ncclComm_t parent, int rank) {
    // Even and odd ranks; keys turn the order round.
    ncclComm_t child = nullptr;
    ASSERT_TRUE(ok(ncclCommSplit(parent, rank % 2, -rank, &child, nullptr)));
    EXPECT_EQ(count_of(child), 3);
    EXPECT_EQ(rank_of(child), (4 + rank % 2 - rank) / 2);
    EXPECT_EQ(summed(static_cast<float>(rank), child), rank % 2 == 0 ? 6.0F : 9.0F);
    EXPECT_EQ(summed(1, parent), 6.0F);  // the parent lives on
    float first = static_cast<float>(rank);
    EXPECT_TRUE(ok(ncclBroadcast(&first, &first, 1, ncclFloat32, 0, child, nullptr)));
    EXPECT_EQ(first, static_cast<float>(4 + rank % 2));
    EXPECT_TRUE(ok(ncclCommDestroy(child)));
    EXPECT_EQ(summed(1, parent), 6.0F);
  });
}

TEST(Split, EqualKeysKeepTheParentsOrderAndNoColorGivesNone) {
  with_ranks(4, [](ncclComm_t parent, int rank) {
    ncclComm_t child = parent;
    const int color = rank == 1 ? NCCL_SPLIT_NOCOLOR : 5;
    ASSERT_TRUE(ok(ncclCommSplit(parent, color, 0, &child, nullptr)));
    if (rank == 1) {
      EXPECT_EQ(child, nullptr);
      return;
    }
    EXPECT_EQ(rank_of(child), rank == 0 ? 0 : rank - 1);
    EXPECT_EQ(summed(1, child), 3.0F);
    EXPECT_TRUE(ok(ncclCommDestroy(child)));
  });
}

TEST(Split, OfSplitsOutlivingTheirParents) {
  with_ranks(4, [](ncclComm_t parent, int rank) {
    ncclComm_t half = nullptr, one = nullptr, again = nullptr;
    ASSERT_TRUE(ok(ncclCommSplit(parent, rank / 2, rank, &half, nullptr)));
    ASSERT_TRUE(ok(ncclCommSplit(half, rank_of(half), 0, &one, nullptr)));
    ASSERT_TRUE(ok(ncclCommSplit(parent, rank / 2, rank, &again, nullptr)));
    EXPECT_TRUE(ok(ncclCommDestroy(half)));
    EXPECT_EQ(count_of(one), 1);
    EXPECT_EQ(summed(3, one), 3.0F);
    EXPECT_EQ(summed(1, again), 2.0F);
    EXPECT_TRUE(ok(ncclCommDestroy(one)));
    EXPECT_TRUE(ok(ncclCommDestroy(again)));
  });
}

TEST(Split, RefusesBadArguments) {
  with_ranks(1, [](ncclComm_t comm, int) {
    ncclComm_t child = nullptr;
    EXPECT_EQ(ncclCommSplit(comm, -2, 0, &child, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(comm, 0, 0, nullptr, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommSplit(nullptr, 0, 0, &child, nullptr), ncclInvalidArgument);
  });
}

TEST(Split, ByOneThreadInAGroup) {
  ncclComm_t comms[4] = {}, children[4] = {};
  ASSERT_TRUE(ok(ncclCommInitAll(comms, 4, nullptr)));
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_TRUE(ok(ncclCommSplit(comms[rank], rank % 2, rank, &children[rank], nullptr)));
  }
  ASSERT_TRUE(ok(ncclGroupEnd()));
  for (int rank = 0; rank < 4; ++rank) {
    EXPECT_EQ(count_of(children[rank]), 2);
    EXPECT_EQ(rank_of(children[rank]), rank / 2);
    EXPECT_TRUE(ok(ncclCommDestroy(children[rank])));
    EXPECT_TRUE(ok(ncclCommDestroy(comms[rank])));
  }
}

TEST(Init, AllOfOneProcess) {
  ncclComm_t comms[3] = {};
  const int devices[3] = {0, 1, 0};
  ASSERT_TRUE(ok(ncclCommInitAll(comms, 3, devices)));
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(count_of(comms[i]), 3);
    EXPECT_EQ(rank_of(comms[i]), i);
    int device = -1;
    EXPECT_TRUE(ok(ncclCommCuDevice(comms[i], &device)));
    EXPECT_EQ(device, devices[i]);
    ncclResult_t state = ncclInternalError;
    EXPECT_TRUE(ok(ncclCommGetAsyncError(comms[i], &state)));
    EXPECT_EQ(state, ncclSuccess);
  }
  for (ncclComm_t comm : comms) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  ASSERT_TRUE(ok(ncclCommInitAll(comms, 3, nullptr)));
  for (int i = 0; i < 3; ++i) {
    int device = -1;
    EXPECT_TRUE(ok(ncclCommCuDevice(comms[i], &device)));
    EXPECT_EQ(device, i) << "without a list";
  }
  for (ncclComm_t comm : comms) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  const int bad[2] = {0, -1};
  EXPECT_EQ(ncclCommInitAll(comms, 2, bad), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(comms, 0, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitAll(nullptr, 2, nullptr), ncclInvalidArgument);
}

TEST(Init, ScalableWithSeveralIds) {
  ncclUniqueId ids[2] = {new_id(), new_id()};
  on_threads(4, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_TRUE(ok(ncclCommInitRankScalable(&comm, 4, rank, 2, ids, nullptr)));
    EXPECT_EQ(summed(1, comm), 4.0F);
    EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  });
  ncclComm_t comm = nullptr;
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 4, 0, 0, ids, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 1, 0, 2, ids, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRankScalable(&comm, 1, 0, 1, nullptr, nullptr), ncclInvalidArgument);
}

TEST(Init, RefusesBadArguments) {
  ncclComm_t comm = nullptr;
  const ncclUniqueId id = new_id();
  EXPECT_EQ(ncclCommInitRank(nullptr, 1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 0, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, -1, id, 0), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, -1), ncclInvalidArgument);
  EXPECT_EQ(ncclCommInitRank(&comm, 2, id, 2), ncclInvalidArgument);
  EXPECT_EQ(ncclGetUniqueId(nullptr), ncclInvalidArgument);
  ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
  config.magic = 1;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  config = NCCL_CONFIG_INITIALIZER;
  config.blocking = 3;
  EXPECT_EQ(ncclCommInitRankConfig(&comm, 1, id, 0, &config), ncclInvalidArgument);
  ncclUniqueId nonsense{};
  EXPECT_NE(ncclCommInitRank(&comm, 1, nonsense, 0), ncclSuccess);
  EXPECT_EQ(comm, nullptr);
}

TEST(OneRank, EveryCollectiveIsACopy) {
  with_ranks(1, [](ncclComm_t comm, int) {
    for (int t = 0; t < kTypes; ++t) {
      const auto type = static_cast<ncclDataType_t>(t);
      for (const std::size_t count : {1U, 8U, 9U, 1001U, 100'003U}) {
        const std::size_t bytes = count * size_of(type);
        std::vector<Value> numbers(count);
        values({.seed = count, .type = type, .op = Op::max, .world = 1}, 0, 0, numbers);
        std::vector<std::byte> given(bytes);
        store(numbers, type, given.data());
        const auto expect_copy = [&](ncclResult_t result, std::vector<std::byte>& found,
                                     const char* what) {
          EXPECT_TRUE(ok(result)) << what;
          EXPECT_EQ(std::memcmp(found.data(), given.data(), bytes), 0)
              << what << " of " << count << " x " << name_of(type);
          std::memset(found.data(), 0xff, bytes);
        };
        std::vector<std::byte> found(bytes, std::byte{0xff});
        const void* in = given.data();
        void* out = found.data();
        for (int op = 0; op < ncclNumOps; ++op) {
          const auto o = static_cast<ncclRedOp_t>(op);
          expect_copy(ncclAllReduce(in, out, count, type, o, comm, nullptr), found, "all-reduce");
          expect_copy(ncclReduce(in, out, count, type, o, 0, comm, nullptr), found, "reduce");
          expect_copy(ncclReduceScatter(in, out, count, type, o, comm, nullptr), found,
                      "reduce-scatter");
        }
        expect_copy(ncclBroadcast(in, out, count, type, 0, comm, nullptr), found, "broadcast");
        expect_copy(ncclAllGather(in, out, count, type, comm, nullptr), found, "all-gather");
        expect_copy(ncclAlltoAll(in, out, count, type, comm, nullptr), found, "all-to-all");
        expect_copy(ncclGather(in, out, count, type, 0, comm, nullptr), found, "gather");
        expect_copy(ncclScatter(in, out, count, type, 0, comm, nullptr), found, "scatter");
        found = given;
        expect_copy(ncclAllReduce(out, out, count, type, ncclAvg, comm, nullptr), found,
                    "average in place");
      }
    }
  });
}

TEST(OneRank, PreMultipliesOnceAlsoInPlace) {
  with_ranks(1, [](ncclComm_t comm, int) {
    float factor = 3;
    ncclRedOp_t op{};
    ASSERT_TRUE(
        ok(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comm)));
    std::vector<float> data(1001, 2), other(1001, 0);
    EXPECT_TRUE(
        ok(ncclAllReduce(data.data(), other.data(), data.size(), ncclFloat32, op, comm, nullptr)));
    EXPECT_EQ(other, std::vector<float>(1001, 6));
    EXPECT_TRUE(
        ok(ncclAllReduce(data.data(), data.data(), data.size(), ncclFloat32, op, comm, nullptr)));
    EXPECT_EQ(data, other);
    EXPECT_TRUE(
        ok(ncclReduceScatter(data.data(), other.data(), 1001, ncclFloat32, op, comm, nullptr)));
    EXPECT_EQ(other, std::vector<float>(1001, 18));
    EXPECT_TRUE(ok(ncclRedOpDestroy(op, comm)));
  });
}

TEST(Arguments, AreCheckedByEveryCall) {
  with_ranks(2, [](ncclComm_t comm, int) {
    std::vector<float> memory(16);
    float* const b = memory.data();
    const auto no_type = ncclNumTypes;
    const auto no_op = static_cast<ncclRedOp_t>(1000);
    ncclComm_t none = nullptr;
    const ncclResult_t refused[] = {
        ncclAllReduce(b, b, 1, ncclFloat32, ncclSum, none, nullptr),
        ncclAllReduce(b, b, 1, no_type, ncclSum, comm, nullptr),
        ncclAllReduce(b, b, 1, ncclFloat32, no_op, comm, nullptr),
        ncclAllReduce(b, b, 1, ncclFloat32, ncclNumOps, comm, nullptr),
        ncclAllReduce(nullptr, b, 1, ncclFloat32, ncclSum, comm, nullptr),
        ncclAllReduce(b, nullptr, 1, ncclFloat32, ncclSum, comm, nullptr),
        ncclAllReduce(nullptr, nullptr, 0, no_type, ncclSum, comm, nullptr),
        ncclReduce(b, b, 1, ncclFloat32, ncclSum, 2, comm, nullptr),
        ncclReduce(b, b, 1, ncclFloat32, ncclSum, -1, comm, nullptr),
        ncclBroadcast(b, b, 1, ncclFloat32, 2, comm, nullptr),
        ncclBroadcast(b, nullptr, 1, ncclFloat32, 0, comm, nullptr),
        ncclBroadcast(b, b, 0, ncclFloat32, 7, comm, nullptr),
        ncclBcast(b, 1, ncclFloat32, -3, comm, nullptr),
        ncclReduceScatter(b, nullptr, 1, ncclFloat32, ncclSum, comm, nullptr),
        ncclReduceScatter(b, b, 1, ncclFloat32, no_op, comm, nullptr),
        ncclAllGather(nullptr, b, 1, ncclFloat32, comm, nullptr),
        ncclAllGather(b, b, 1, no_type, comm, nullptr),
        ncclAlltoAll(nullptr, b, 1, ncclFloat32, comm, nullptr),
        ncclGather(nullptr, b, 1, ncclFloat32, 0, comm, nullptr),
        ncclGather(b, b, 1, ncclFloat32, 2, comm, nullptr),
        ncclScatter(b, nullptr, 1, ncclFloat32, 0, comm, nullptr),
        ncclScatter(b, b, 1, ncclFloat32, 2, comm, nullptr),
        ncclSend(b, 1, ncclFloat32, 2, comm, nullptr),
        ncclSend(nullptr, 1, ncclFloat32, 1, comm, nullptr),
        ncclRecv(b, 1, ncclFloat32, -1, comm, nullptr),
        ncclRecv(nullptr, 1, ncclFloat32, 1, comm, nullptr),
        ncclAllReduce(b, b, 1, ncclFloat32, ncclSum, reinterpret_cast<ncclComm_t>(b), nullptr),
    };
    for (std::size_t i = 0; i < std::size(refused); ++i) {
      EXPECT_EQ(refused[i], ncclInvalidArgument) << "call " << i;
    }
    const std::size_t counts[2] = {1, 1}, offsets[2] = {0, 1};
    EXPECT_EQ(gyre::all_gather_v(nullptr, b, counts, offsets, ncclFloat32, comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(gyre::all_gather_v(b, nullptr, counts, offsets, ncclFloat32, comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(gyre::all_gather_v(b, b, nullptr, offsets, ncclFloat32, comm, nullptr),
              ncclInvalidArgument);
    EXPECT_EQ(
        gyre::reduce_scatter_v(nullptr, b, counts, offsets, ncclFloat32, ncclSum, comm, nullptr),
        ncclInvalidArgument);
    EXPECT_EQ(
        gyre::reduce_scatter_v(b, nullptr, counts, offsets, ncclFloat32, ncclSum, comm, nullptr),
        ncclInvalidArgument);
    EXPECT_EQ(ncclCommCount(comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommUserRank(comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclCommGetAsyncError(comm, nullptr), ncclInvalidArgument);
    int number = 0;
    EXPECT_EQ(ncclCommCount(none, &number), ncclInvalidArgument);
    EXPECT_EQ(ncclGetVersion(nullptr), ncclInvalidArgument);
    EXPECT_EQ(summed(1, comm), 2.0F);  // and no call was left behind
  });
}

// Buffers that a rank does not use may be NULL, also where its own part of a v-call is empty.
TEST(Arguments, UnusedBuffersMayBeNull) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    float one = 1, two[2] = {1, 2};
    const bool root = rank == 0;
    EXPECT_TRUE(
        ok(ncclReduce(&one, root ? two : nullptr, 1, ncclFloat32, ncclSum, 0, comm, nullptr)));
    EXPECT_TRUE(ok(ncclBroadcast(root ? two : nullptr, &one, 1, ncclFloat32, 0, comm, nullptr)));
    EXPECT_TRUE(ok(ncclGather(&one, root ? two : nullptr, 1, ncclFloat32, 0, comm, nullptr)));
    EXPECT_TRUE(ok(ncclScatter(root ? two : nullptr, &one, 1, ncclFloat32, 0, comm, nullptr)));
    const std::size_t counts[2] = {0, 2}, offsets[2] = {0, 0};
    float all[2] = {}, mine[2] = {5, 6};
    EXPECT_TRUE(ok(gyre::all_gather_v(root ? nullptr : mine, all, counts, offsets, ncclFloat32,
                                      comm, nullptr)));
    EXPECT_EQ(all[1], 6.0F);
    EXPECT_TRUE(ok(gyre::reduce_scatter_v(mine, root ? nullptr : all, counts, offsets, ncclFloat32,
                                          ncclSum, comm, nullptr)));
    EXPECT_EQ(all[0], root ? 5.0F : 10.0F);
  });
}

TEST(End, FinalizeThenDestroy) {
  with_ranks(2, [](ncclComm_t comm, int) {
    EXPECT_EQ(summed(1, comm), 2.0F);
    float value = 1;
    EXPECT_TRUE(ok(ncclCommFinalize(comm)));
    EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
    EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, nullptr),
              ncclInvalidUsage);
    ncclResult_t state = ncclInternalError;
    EXPECT_TRUE(ok(ncclCommGetAsyncError(comm, &state)));
    EXPECT_EQ(state, ncclSuccess);
    EXPECT_EQ(count_of(comm), 2);
  });
}

TEST(End, CallsAfterDestroy) {
  ncclComm_t comm = nullptr;
  ASSERT_TRUE(ok(ncclCommInitRank(&comm, 1, new_id(), 0)));
  ASSERT_TRUE(ok(ncclCommDestroy(comm)));
  float value = 1;
  int number = 0;
  ncclResult_t state{};
  ncclRedOp_t op{};
  EXPECT_EQ(ncclCommDestroy(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommAbort(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclCommFinalize(comm), ncclInvalidArgument);
  EXPECT_EQ(ncclAllReduce(&value, &value, 1, ncclFloat32, ncclSum, comm, nullptr),
            ncclInvalidArgument);
  EXPECT_EQ(ncclCommCount(comm, &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommUserRank(comm, &number), ncclInvalidArgument);
  EXPECT_EQ(ncclCommGetAsyncError(comm, &state), ncclInvalidArgument);
  EXPECT_EQ(ncclCommSplit(comm, 0, 0, &comm, nullptr), ncclInvalidArgument);
  EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &value, ncclFloat32, ncclScalarDevice, comm),
            ncclInvalidArgument);
}

TEST(End, OfNothingIsNothing) {
  EXPECT_TRUE(ok(ncclCommFinalize(nullptr)));
  EXPECT_TRUE(ok(ncclCommDestroy(nullptr)));
  EXPECT_TRUE(ok(ncclCommAbort(nullptr)));
}

}  // namespace
}  // namespace gyre::test
