// Calls of ranks on a device: what its streams, memory and kernels add to the rules of every call.
// On an emulated device in CI (tests/emulated), and on any real one by hand.
#include <algorithm>
#include <latch>
#include <numeric>
#include <random>

#include "tests/collective/device_ranks.hpp"

namespace gyre::test {
namespace {

using Floats = std::vector<float>;
using Integers = std::vector<std::int32_t>;

// Small ones take the short form, long ones lanes in several channels.
constexpr std::size_t kCounts[] = {1, 1000, 300'007};

TEST(Device, RefusesMemoryItCannotReach) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(1, [](const DeviceRankUnderTest& one) {
    float value = 1;
    DeviceArray<float> there(1, 1.0F);
    EXPECT_EQ(ncclAllReduce(&value, there.data(), 1, ncclFloat32, ncclSum, one.comm, one.stream),
              ncclInvalidArgument);
    EXPECT_NE(std::string(ncclGetLastError(one.comm)).find("send buffer"), std::string::npos);
    EXPECT_EQ(ncclAllReduce(there.data(), &value, 1, ncclFloat32, ncclSum, one.comm, one.stream),
              ncclInvalidArgument);
    EXPECT_NE(std::string(ncclGetLastError(one.comm)).find("receive buffer"), std::string::npos);
    // The communicator is none the worse.
    EXPECT_TRUE(ok(
        ncclAllReduce(there.data(), there.data(), 1, ncclFloat32, ncclSum, one.comm, one.stream)));
    EXPECT_TRUE(done(one.stream));
    EXPECT_EQ(there.read(), Floats{1.0F});
  });
}

// Not for its peer, nor for the memory that a larger call needs.
TEST(Device, WaitsForNobodyToIssueACall) {
  GYRE_NEEDS_DEVICE();
  std::latch issued(1);
  with_device_ranks(2, [&](const DeviceRankUnderTest& one) {
    constexpr std::size_t kLonger[] = {1, 1000, 300'007, 3'000'000};
    DeviceArray<float> data(kLonger[3], 1.0F);
    if (one.rank == 1) issued.wait();
    for (const std::size_t count : kLonger) {
      EXPECT_TRUE(ok(ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, one.comm,
                                   one.stream)));
    }
    if (one.rank == 0) issued.count_down();
    EXPECT_TRUE(done(one.stream));
    EXPECT_EQ(data.read().front(), 16.0F);
    EXPECT_EQ(data.read().back(), 2.0F);
  });
}

// Calls of nothing count as calls, also the first ones.
TEST(Device, BeginsWithCallsOfNothing) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(2, [](const DeviceRankUnderTest& one) {
    DeviceArray<float> data(1, 1.0F);
    const auto all_reduce = [&](std::size_t count) {
      EXPECT_TRUE(ok(ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, one.comm,
                                   one.stream)));
    };
    all_reduce(0);
    EXPECT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclSend(data.data(), 0, ncclFloat32, 1 - one.rank, one.comm, one.stream)));
    EXPECT_TRUE(ok(ncclRecv(data.data(), 0, ncclFloat32, 1 - one.rank, one.comm, one.stream)));
    EXPECT_TRUE(ok(ncclGroupEnd()));
    all_reduce(1);
    EXPECT_TRUE(done(one.stream));
    EXPECT_EQ(data.read(), Floats{2.0F});
  });
}

// Pinned memory of the host is memory that a device reaches.
TEST(Device, WorksOnPinnedMemory) {
  GYRE_NEEDS_DEVICE();
  for (const std::size_t count : kCounts) {
    with_device_ranks(2, [count](const DeviceRankUnderTest& one) {
      void* memory = nullptr;
      ASSERT_EQ(gyreHostAlloc(rank_device(), count * sizeof(float), &memory), gyreSuccess);
      auto* const pinned = static_cast<float*>(memory);
      std::fill_n(pinned, count, 1.0F);
      DeviceArray<float> there(count, 0.0F);
      EXPECT_TRUE(ok(
          ncclAllReduce(pinned, there.data(), count, ncclFloat32, ncclSum, one.comm, one.stream)));
      EXPECT_TRUE(ok(
          ncclAllReduce(there.data(), pinned, count, ncclFloat32, ncclSum, one.comm, one.stream)));
      EXPECT_TRUE(
          ok(ncclAllReduce(pinned, pinned, count, ncclFloat32, ncclSum, one.comm, one.stream)));
      EXPECT_TRUE(done(one.stream));
      EXPECT_EQ(there.read(), Floats(count, 2.0F));
      EXPECT_EQ(Floats(pinned, pinned + count), Floats(count, 8.0F));
      EXPECT_EQ(gyreHostFree(rank_device(), memory), gyreSuccess);
    });
  }
}

// The host waits for nothing: each call takes what the one before left, whatever stream that was
// on.
TEST(Device, CallsOnStreamsInTurnFollowEachOther) {
  GYRE_NEEDS_DEVICE();
  for (const std::size_t count : kCounts) {
    with_device_ranks(3, [count](const DeviceRankUnderTest& one) {
      const cudaStream_t streams[] = {one.stream, rank_stream(), rank_stream()};
      DeviceArray<float> a(count, 1.0F), b(count, 0.0F);
      for (int round = 0; round < 6; ++round) {
        const auto& [from, to] = round % 2 == 0 ? std::tie(a, b) : std::tie(b, a);
        ASSERT_TRUE(ok(ncclAllReduce(from.data(), to.data(), count, ncclFloat32, ncclSum, one.comm,
                                     streams[round % 3])));
      }
      EXPECT_TRUE(done(streams[5 % 3]));
      EXPECT_EQ(a.read(), Floats(count, 729.0F));
    });
  }
}

// Work of the user's own on the same stream comes before and after.
TEST(Device, CallsKeepTheOrderOfTheirStream) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(2, [](const DeviceRankUnderTest& one) {
    constexpr std::size_t kCount = 50'000;
    DeviceArray<std::uint8_t> data(kCount, 0), copies(std::size_t{20} * kCount, 0);
    for (int round = 0; round < 20; ++round) {
      ASSERT_EQ(gyreDeviceFill(rank_device(), data.data(), round, kCount, one.stream), gyreSuccess);
      ASSERT_TRUE(ok(ncclAllReduce(data.data(), data.data(), kCount, ncclUint8, ncclSum, one.comm,
                                   one.stream)));
      ASSERT_EQ(gyreDeviceCopyAsync(rank_device(),
                                    copies.data() + static_cast<std::size_t>(round) * kCount,
                                    data.data(), kCount, one.stream),
                gyreSuccess);
    }
    EXPECT_TRUE(done(one.stream));
    std::vector<std::uint8_t> wanted;
    for (int round = 0; round < 20; ++round) {
      wanted.insert(wanted.end(), kCount, static_cast<std::uint8_t>(2 * round));
    }
    EXPECT_EQ(copies.read(), wanted);
  });
}

// A group's calls on two streams are one piece of work, before and after which both go on.
TEST(Device, AGroupJoinsItsStreams) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(2, [](const DeviceRankUnderTest& one) {
    constexpr std::size_t kCount = 20'000;
    const cudaStream_t other = rank_stream();
    DeviceArray<std::uint8_t> a(kCount, 0), b(kCount, 0);
    for (int round = 1; round <= 10; ++round) {
      ASSERT_EQ(gyreDeviceFill(rank_device(), a.data(), round, kCount, one.stream), gyreSuccess);
      ASSERT_EQ(gyreDeviceFill(rank_device(), b.data(), 2 * round, kCount, other), gyreSuccess);
      ASSERT_TRUE(ok(ncclGroupStart()));
      EXPECT_TRUE(
          ok(ncclAllReduce(a.data(), a.data(), kCount, ncclUint8, ncclSum, one.comm, one.stream)));
      EXPECT_TRUE(
          ok(ncclAllReduce(b.data(), b.data(), kCount, ncclUint8, ncclSum, one.comm, other)));
      EXPECT_TRUE(ok(ncclGroupEnd()));
    }
    EXPECT_TRUE(done(one.stream));
    EXPECT_TRUE(done(other));
    EXPECT_EQ(a.read(), std::vector<std::uint8_t>(kCount, 20));
    EXPECT_EQ(b.read(), std::vector<std::uint8_t>(kCount, 40));
  });
}

TEST(Device, TakesMemoryOfNcclMemAlloc) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(2, [](const DeviceRankUnderTest& one) {
    constexpr std::size_t kCount = 70'000;
    void* memory = nullptr;
    void* handle = nullptr;
    const Floats ones(kCount, 1.0F);
    Floats found(kCount);
    ASSERT_TRUE(ok(ncclMemAlloc(&memory, kCount * sizeof(float))));
    EXPECT_TRUE(ok(ncclCommRegister(one.comm, memory, kCount * sizeof(float), &handle)));
    ASSERT_EQ(gyreDeviceCopy(rank_device(), memory, ones.data(), kCount * sizeof(float)),
              gyreSuccess);
    EXPECT_TRUE(
        ok(ncclAllReduce(memory, memory, kCount, ncclFloat32, ncclSum, one.comm, one.stream)));
    EXPECT_TRUE(done(one.stream));
    ASSERT_EQ(gyreDeviceCopy(rank_device(), found.data(), memory, kCount * sizeof(float)),
              gyreSuccess);
    EXPECT_EQ(found, Floats(kCount, 2.0F));
    EXPECT_TRUE(ok(ncclCommDeregister(one.comm, handle)));
    EXPECT_TRUE(ok(ncclMemFree(memory)));
  });
}

// One thread drives a rank on each device.
TEST(Device, OneRankOnEachOfSeveralDevices) {
  GYRE_NEEDS_DEVICE();
  int devices = 0;
  ASSERT_EQ(gyreDeviceCount(gyreDeviceAuto, &devices), gyreSuccess);
  if (devices < 2) GTEST_SKIP() << "there is one device";
  const int world = std::min(devices, 3);
  constexpr std::size_t kCount = 100'000;
  const Floats ones(kCount, 1.0F);
  std::vector<ncclComm_t> comms(static_cast<std::size_t>(world));
  ASSERT_TRUE(ok(ncclCommInitAll(comms.data(), world, nullptr)));
  struct Place {
    gyreDevice_t device = nullptr;
    gyreStream_t stream = nullptr;
    void* memory = nullptr;
  };
  std::vector<Place> places(comms.size());
  for (int rank = 0; rank < world; ++rank) {
    Place& place = places[static_cast<std::size_t>(rank)];
    int device = -1;
    EXPECT_TRUE(ok(ncclCommCuDevice(comms[static_cast<std::size_t>(rank)], &device)));
    EXPECT_EQ(device, rank);
    ASSERT_EQ(gyreDeviceOpen(gyreDeviceAuto, rank, &place.device), gyreSuccess);
    ASSERT_EQ(gyreStreamCreate(place.device, &place.stream), gyreSuccess);
    ASSERT_EQ(gyreDeviceAlloc(place.device, kCount * sizeof(float), &place.memory), gyreSuccess);
    ASSERT_EQ(gyreDeviceCopy(place.device, place.memory, ones.data(), kCount * sizeof(float)),
              gyreSuccess);
  }
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (std::size_t rank = 0; rank < comms.size(); ++rank) {
    EXPECT_TRUE(ok(ncclAllReduce(places[rank].memory, places[rank].memory, kCount, ncclFloat32,
                                 ncclSum, comms[rank], places[rank].stream)));
  }
  ASSERT_TRUE(ok(ncclGroupEnd()));
  for (Place& place : places) {
    Floats found(kCount);
    EXPECT_EQ(gyreStreamSynchronize(place.device, place.stream), gyreSuccess);
    EXPECT_EQ(gyreDeviceCopy(place.device, found.data(), place.memory, kCount * sizeof(float)),
              gyreSuccess);
    EXPECT_EQ(found, Floats(kCount, static_cast<float>(world)));
  }
  for (ncclComm_t comm : comms) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
  for (Place& place : places) {
    EXPECT_EQ(gyreDeviceFree(place.device, place.memory), gyreSuccess);
    EXPECT_EQ(gyreStreamDestroy(place.device, place.stream), gyreSuccess);
    EXPECT_EQ(gyreDeviceClose(place.device), gyreSuccess);
  }
  EXPECT_EQ(gyreDeviceSelect(rank_device()), gyreSuccess);
}

TEST(Device, AllToAllInPlace) {
  GYRE_NEEDS_DEVICE();
  for (const std::size_t count : {std::size_t{1}, std::size_t{777}, std::size_t{70'001}}) {
    with_device_ranks(4, [count](const DeviceRankUnderTest& one) {
      Integers given(4 * count), wanted(4 * count);
      for (std::size_t peer = 0; peer < 4; ++peer) {
        const auto own = static_cast<std::int32_t>(one.rank);
        const auto theirs = static_cast<std::int32_t>(peer);
        for (std::size_t i = 0; i < count; ++i) {
          given[peer * count + i] = 1'000'000 * own + 100'000 * theirs + static_cast<int>(i % 9973);
          wanted[peer * count + i] =
              1'000'000 * theirs + 100'000 * own + static_cast<int>(i % 9973);
        }
      }
      DeviceArray<std::int32_t> data(given);
      ASSERT_TRUE(
          ok(ncclAlltoAll(data.data(), data.data(), count, ncclInt32, one.comm, one.stream)));
      EXPECT_TRUE(done(one.stream));
      EXPECT_EQ(data.read(), wanted);
    });
  }
}

struct Letter {
  int from, to;
  std::size_t count;
  std::int32_t first;

  Integers words() const {
    Integers all(count);
    std::iota(all.begin(), all.end(), first);
    return all;
  }
};

// The same on all ranks: any number of messages between any two of them, to themselves too.
std::vector<Letter> letters(std::mt19937_64& random, int world) {
  std::vector<Letter> all;
  const std::size_t number = 1 + random() % 24;
  for (std::size_t i = 0; i < number; ++i) {
    const auto from = static_cast<int>(random() % static_cast<std::uint64_t>(world));
    const auto to = static_cast<int>(random() % static_cast<std::uint64_t>(world));
    constexpr std::size_t kSizes[] = {0, 1, 5, 100, 4096, 40'000, 200'003};
    all.push_back({from, to, kSizes[random() % std::size(kSizes)],
                   static_cast<std::int32_t>(random() % 1'000'000)});
  }
  return all;
}

void exchange(const std::vector<Letter>& all, const DeviceRankUnderTest& one) {
  std::vector<DeviceArray<std::int32_t>> sent, received;
  for (const Letter& letter : all) {
    sent.emplace_back(letter.from == one.rank ? letter.words() : Integers());
    received.emplace_back(letter.to == one.rank ? letter.count : 0, -1);
  }
  ASSERT_TRUE(ok(ncclGroupStart()));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Letter& letter = all[i];
    if (letter.from == one.rank) {
      EXPECT_TRUE(
          ok(ncclSend(sent[i].data(), letter.count, ncclInt32, letter.to, one.comm, one.stream)));
    }
    if (letter.to == one.rank) {
      EXPECT_TRUE(ok(ncclRecv(received[i].data(), letter.count, ncclInt32, letter.from, one.comm,
                              one.stream)));
    }
  }
  ASSERT_TRUE(ok(ncclGroupEnd()));
  ASSERT_TRUE(done(one.stream));
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].to == one.rank) {
      EXPECT_EQ(received[i].read(), all[i].words()) << i;
    }
  }
}

TEST(Device, ManyMessagesBetweenManyPairs) {
  GYRE_NEEDS_DEVICE();
  const std::uint64_t seed = test_seed();
  for (const int world : {2, 4, 5}) {
    with_device_ranks(world, [=](const DeviceRankUnderTest& one) {
      std::mt19937_64 random(seed);
      for (int round = 0; round < 25 && !testing::Test::HasFailure(); ++round) {
        exchange(letters(random, world), one);
      }
    });
  }
}

// A sum of messages and collectives, in whatever order the group lists them.
TEST(Device, MessagesBesideCollectives) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(3, [](const DeviceRankUnderTest& one) {
    constexpr std::size_t kCount = 30'000;
    DeviceArray<std::int32_t> sum(kCount, one.rank), mine(kCount, one.rank), theirs(kCount, -1);
    for (int round = 0; round < 10; ++round) {
      ASSERT_TRUE(ok(ncclGroupStart()));
      EXPECT_TRUE(
          ok(ncclRecv(theirs.data(), kCount, ncclInt32, (one.rank + 2) % 3, one.comm, one.stream)));
      EXPECT_TRUE(ok(
          ncclAllReduce(sum.data(), sum.data(), kCount, ncclInt32, ncclMax, one.comm, one.stream)));
      EXPECT_TRUE(
          ok(ncclSend(mine.data(), kCount, ncclInt32, (one.rank + 1) % 3, one.comm, one.stream)));
      EXPECT_TRUE(ok(ncclGroupEnd()));
    }
    EXPECT_TRUE(done(one.stream));
    EXPECT_EQ(sum.read(), Integers(kCount, 2));
    EXPECT_EQ(theirs.read(), Integers(kCount, (one.rank + 2) % 3));
  });
}

// A factor in the device's memory is read when the call runs.
TEST(Device, PreMulSumReadsItsFactorInStreamOrder) {
  GYRE_NEEDS_DEVICE();
  for (const std::size_t count : kCounts) {
    with_device_ranks(2, [count](const DeviceRankUnderTest& one) {
      DeviceArray<float> given(count, 1.0F), before(count, 0.0F), after(count, 0.0F);
      DeviceArray<float> factor(1, one.rank == 0 ? 2.0F : 3.0F), later(1, 10.0F);
      ncclRedOp_t op{};
      ASSERT_TRUE(ok(
          ncclRedOpCreatePreMulSum(&op, factor.data(), ncclFloat32, ncclScalarDevice, one.comm)));
      EXPECT_TRUE(ok(ncclAllReduce(given.data(), before.data(), count, ncclFloat32, op, one.comm,
                                   one.stream)));
      EXPECT_EQ(gyreDeviceCopyAsync(rank_device(), factor.data(), later.data(), sizeof(float),
                                    one.stream),
                gyreSuccess);
      EXPECT_TRUE(ok(
          ncclAllReduce(given.data(), after.data(), count, ncclFloat32, op, one.comm, one.stream)));
      EXPECT_TRUE(ok(ncclRedOpDestroy(op, one.comm)));
      EXPECT_TRUE(done(one.stream));
      EXPECT_EQ(before.read(), Floats(count, 5.0F));
      EXPECT_EQ(after.read(), Floats(count, 20.0F));
    });
  }
}

TEST(Device, SplitAndParentWorkSideBySide) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(4, [](const DeviceRankUnderTest& one) {
    ncclComm_t half = nullptr;
    ASSERT_TRUE(ok(ncclCommSplit(one.comm, one.rank % 2, -one.rank, &half, nullptr)));
    int rank = -1, world = 0;
    EXPECT_TRUE(ok(ncclCommUserRank(half, &rank)));
    EXPECT_TRUE(ok(ncclCommCount(half, &world)));
    EXPECT_EQ(rank, one.rank < 2 ? 1 : 0);
    EXPECT_EQ(world, 2);
    const cudaStream_t other = rank_stream();
    for (const std::size_t count : kCounts) {
      DeviceArray<float> of_all(count, 1.0F), of_half(count, static_cast<float>(one.rank));
      for (int round = 0; round < 3; ++round) {
        EXPECT_TRUE(ok(ncclAllReduce(of_half.data(), of_half.data(), count, ncclFloat32, ncclMax,
                                     half, other)));
        EXPECT_TRUE(ok(ncclAllReduce(of_all.data(), of_all.data(), count, ncclFloat32, ncclSum,
                                     one.comm, one.stream)));
      }
      EXPECT_TRUE(done(one.stream));
      EXPECT_TRUE(done(other));
      EXPECT_EQ(of_all.read(), Floats(count, 64.0F));
      EXPECT_EQ(of_half.read(), Floats(count, static_cast<float>(2 + one.rank % 2)));
    }
    EXPECT_TRUE(ok(ncclCommDestroy(half)));
  });
}

// Everything issued runs, although nobody waited for it.
TEST(Device, DestroyCompletesWhatWasIssued) {
  GYRE_NEEDS_DEVICE();
  for (int round = 0; round < 5; ++round) {
    std::vector<DeviceArray<float>> arrays;
    for (int rank = 0; rank < 3; ++rank) arrays.emplace_back(100'000, 1.0F);
    with_device_ranks(3, [&](const DeviceRankUnderTest& one) {
      DeviceArray<float>& own = arrays[static_cast<std::size_t>(one.rank)];
      for (int call = 0; call < 4; ++call) {
        ASSERT_TRUE(ok(ncclAllReduce(own.data(), own.data(), own.count(), ncclFloat32, ncclSum,
                                     one.comm, one.stream)));
      }
    });
    for (const auto& array : arrays) EXPECT_EQ(array.read(), Floats(array.count(), 81.0F));
  }
}

TEST(Device, FinalizeCompletesWhatWasIssued) {
  GYRE_NEEDS_DEVICE();
  with_device_ranks(2, [](const DeviceRankUnderTest& one) {
    DeviceArray<float> own(100'000, 1.0F);
    ASSERT_TRUE(ok(ncclAllReduce(own.data(), own.data(), own.count(), ncclFloat32, ncclSum,
                                 one.comm, one.stream)));
    ASSERT_TRUE(ok(ncclCommFinalize(one.comm)));
    EXPECT_EQ(own.read(), Floats(own.count(), 2.0F));
  });
}

}  // namespace
}  // namespace gyre::test
