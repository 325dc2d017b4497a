// The factor of a pre-multiplied sum: one element of its type is read and not a byte more, when the
// rules say so, and the operation lives as long as the calls that use it.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "gyre/device.h"
#include "tests/collective/local_ranks.hpp"
#include "tests/collective/ranks.hpp"
#include "tests/collective/values.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 3;
constexpr std::size_t kCount = 1001;

bool is_integer(ncclDataType_t type) { return type <= ncclUint64; }
bool is_unsigned(ncclDataType_t type) {
  return type == ncclUint8 || type == ncclUint32 || type == ncclUint64;
}

// Ranks hold 1, 1, 2 and twice that, in turn: with every factor the sums are exact in every type.
void fill(std::byte* at, ncclDataType_t type, int rank) {
  for (std::size_t i = 0; i < kCount; ++i) {
    store((rank == 2 ? 2.0 : 1.0) * static_cast<double>(1 + i % 2), type, at + i * size_of(type));
  }
}

bool holds_product(const std::byte* at, ncclDataType_t type, double factor) {
  std::byte wanted[8];
  for (std::size_t i = 0; i < kCount; ++i) {
    store(factor * 4.0 * static_cast<double>(1 + i % 2), type, wanted);
    if (std::memcmp(at + i * size_of(type), wanted, size_of(type)) != 0) return false;
  }
  return true;
}

// One element whose last byte is the last one that may be read.
struct EdgeFactor {
  EdgeFactor(double value, ncclDataType_t type)
      : memory(size_of(type), 0, Memory::edge), scalar(memory.data()) {
    store(value, type, memory.data());
  }
  Guarded memory;
  void* scalar;
};

struct Variant {
  ncclDataType_t type;
  double factor;
  ncclScalarResidence_t residence;
};

std::vector<Variant> variants() {
  std::vector<Variant> all;
  for (int t = 0; t < kTypes; ++t) {
    const auto type = static_cast<ncclDataType_t>(t);
    for (const double factor : {0.5, 2.0, 3.0, -0.25, -1.0}) {
      if (is_integer(type) && factor != static_cast<int>(factor)) continue;
      if (is_unsigned(type) && factor < 0) continue;
      for (const auto residence : {ncclScalarDevice, ncclScalarHostImmediate}) {
        all.push_back({type, factor, residence});
      }
    }
  }
  return all;
}

TEST(PreMulSum, ReadsOneElementOfItsType) {
  with_ranks(kWorld, [](ncclComm_t comm, int rank) {
    for (const Variant& one : variants()) {
      EdgeFactor factor(one.factor, one.type);
      ncclRedOp_t op{};
      ASSERT_TRUE(ok(ncclRedOpCreatePreMulSum(&op, factor.scalar, one.type, one.residence, comm)));
      EXPECT_GE(static_cast<int>(op), static_cast<int>(ncclNumOps));
      Guarded input(kCount * size_of(one.type), 0, Memory::edge);
      Guarded output(kCount * size_of(one.type), 0, Memory::edge);
      fill(input.data(), one.type, rank);
      ASSERT_TRUE(
          ok(ncclAllReduce(input.data(), output.data(), kCount, one.type, op, comm, nullptr)));
      EXPECT_TRUE(holds_product(output.data(), one.type, one.factor))
          << name_of(one.type) << " x " << one.factor << ", residence " << one.residence;
      EXPECT_TRUE(ok(ncclRedOpDestroy(op, comm)));
    }
  });
}

// Each rank may have its own factor.
TEST(PreMulSum, FactorsDifferByRank) {
  with_ranks(kWorld, [](ncclComm_t comm, int rank) {
    float factor = rank == 0 ? 2.0F : 0.5F;
    const float given = 8.0F;
    float found = 0;
    ncclRedOp_t op{};
    ASSERT_TRUE(
        ok(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comm)));
    factor = 100.0F;  // was read already
    ASSERT_TRUE(ok(ncclAllReduce(&given, &found, 1, ncclFloat32, op, comm, nullptr)));
    EXPECT_EQ(found, 24.0F);
    EXPECT_TRUE(ok(ncclRedOpDestroy(op, comm)));
  });
}

TEST(PreMulSum, MayBeDestroyedWhileItsCallIsQueued) {
  std::barrier others_destroyed(kWorld);
  with_ranks(kWorld, [&](ncclComm_t comm, int rank) {
    gyreDevice_t device = nullptr;
    gyreStream_t stream = nullptr;
    ASSERT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device), gyreSuccess);
    ASSERT_EQ(gyreStreamCreate(device, &stream), gyreSuccess);
    std::vector<EdgeFactor> factors;
    std::vector<Guarded> outputs;
    std::vector<Guarded> inputs;
    const std::vector<Variant> all = variants();
    // Rank 0 issues last, so the operations of the others are gone before any call can end.
    if (rank == 0) others_destroyed.arrive_and_wait();
    for (const Variant& one : all) {
      inputs.emplace_back(kCount * size_of(one.type), 0, Memory::plain);
      outputs.emplace_back(kCount * size_of(one.type), 0, Memory::plain);
      fill(inputs.back().data(), one.type, rank);
      EdgeFactor factor(one.factor, one.type);
      ncclRedOp_t op{};
      EXPECT_TRUE(ok(ncclRedOpCreatePreMulSum(&op, factor.scalar, one.type, one.residence, comm)));
      EXPECT_TRUE(ok(ncclAllReduce(inputs.back().data(), outputs.back().data(), kCount, one.type,
                                   op, comm, stream)));
      EXPECT_TRUE(ok(ncclRedOpDestroy(op, comm)));
      // A device factor belongs to the caller until the call ends; a host one was read.
      if (one.residence == ncclScalarDevice) factors.push_back(std::move(factor));
    }
    if (rank != 0) others_destroyed.arrive_and_wait();
    EXPECT_EQ(gyreStreamSynchronize(device, stream), gyreSuccess);
    for (std::size_t i = 0; i < all.size(); ++i) {
      EXPECT_TRUE(holds_product(outputs[i].data(), all[i].type, all[i].factor))
          << name_of(all[i].type) << " x " << all[i].factor;
    }
    EXPECT_EQ(gyreStreamDestroy(device, stream), gyreSuccess);
    EXPECT_EQ(gyreDeviceClose(device), gyreSuccess);
  });
}

// A device factor is read when the call runs: earlier work of the stream may still write it.
TEST(PreMulSum, DeviceFactorIsReadInStreamOrder) {
  with_ranks(2, [](ncclComm_t comm, int) {
    gyreDevice_t device = nullptr;
    gyreStream_t stream = nullptr;
    ASSERT_EQ(gyreDeviceOpen(gyreDeviceHost, 0, &device), gyreSuccess);
    ASSERT_EQ(gyreStreamCreate(device, &stream), gyreSuccess);
    const float given = 1.0F, later = 4.0F;
    float factor = 2.0F, before = 0, found = 0;
    ncclRedOp_t op{};
    ASSERT_TRUE(ok(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarDevice, comm)));
    // The first call cannot end before the other rank takes part, so the copy is still queued when
    // the second is issued.
    EXPECT_TRUE(ok(ncclAllReduce(&given, &before, 1, ncclFloat32, op, comm, stream)));
    EXPECT_EQ(gyreDeviceCopyAsync(device, &factor, &later, sizeof later, stream), gyreSuccess);
    EXPECT_TRUE(ok(ncclAllReduce(&given, &found, 1, ncclFloat32, op, comm, stream)));
    EXPECT_EQ(gyreStreamSynchronize(device, stream), gyreSuccess);
    EXPECT_EQ(before, 4.0F);
    EXPECT_EQ(found, 8.0F);
    EXPECT_TRUE(ok(ncclRedOpDestroy(op, comm)));
    EXPECT_EQ(gyreStreamDestroy(device, stream), gyreSuccess);
    EXPECT_EQ(gyreDeviceClose(device), gyreSuccess);
  });
}

TEST(PreMulSum, RefusesOtherTypesAndDeadOperations) {
  with_ranks(1, [](ncclComm_t comm, int) {
    float factor = 2, data = 1;
    // As a C program may: in C++ the enumeration has no such value.
    const auto create_as_in_c =
        reinterpret_cast<ncclResult_t (*)(ncclRedOp_t*, void*, ncclDataType_t, int, ncclComm_t)>(
            &ncclRedOpCreatePreMulSum);
    ncclRedOp_t op{};
    ASSERT_TRUE(
        ok(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comm)));
    EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclInt32, op, comm, nullptr), ncclInvalidArgument);
    EXPECT_TRUE(ok(ncclAllReduce(&data, &data, 1, ncclFloat32, op, comm, nullptr)));
    EXPECT_EQ(data, 2.0F);
    EXPECT_TRUE(ok(ncclRedOpDestroy(op, comm)));
    EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclFloat32, op, comm, nullptr), ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpDestroy(op, comm), ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpDestroy(ncclSum, comm), ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(nullptr, &factor, ncclFloat32, ncclScalarDevice, comm),
              ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, nullptr, ncclFloat32, ncclScalarDevice, comm),
              ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &factor, ncclNumTypes, ncclScalarDevice, comm),
              ncclInvalidArgument);
    EXPECT_EQ(create_as_in_c(&op, &factor, ncclFloat32, 7, comm), ncclInvalidArgument);
    EXPECT_EQ(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarDevice, nullptr),
              ncclInvalidArgument);
  });
}

// An operation belongs to the communicator that made it.
TEST(PreMulSum, IsUnknownToOtherCommunicators) {
  ncclComm_t comms[2] = {};
  for (ncclComm_t& comm : comms) ASSERT_TRUE(ok(ncclCommInitRank(&comm, 1, new_id(), 0)));
  float factor = 2, data = 1;
  ncclRedOp_t op{};
  ASSERT_TRUE(
      ok(ncclRedOpCreatePreMulSum(&op, &factor, ncclFloat32, ncclScalarHostImmediate, comms[0])));
  EXPECT_EQ(ncclAllReduce(&data, &data, 1, ncclFloat32, op, comms[1], nullptr),
            ncclInvalidArgument);
  for (ncclComm_t comm : comms) EXPECT_TRUE(ok(ncclCommDestroy(comm)));
}

}  // namespace
}  // namespace gyre::test
