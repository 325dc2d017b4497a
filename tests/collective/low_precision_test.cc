// The ends of the floating-point ranges: averages and sums that must neither overflow nor flush on
// the way to a result that fits, and NaN, which wins.
#include <cstring>

#include "tests/collective/ranks.hpp"
#include "tests/collective/values.hpp"

namespace gyre::test {
namespace {

// Every rank contributes the element `given` everywhere.
struct Range {
  const char* what;
  ncclDataType_t type;
  std::uint64_t given;    // bits
  std::uint64_t average;  // bits that the average of any number of ranks must have
  std::uint64_t sum;      // bits of the sum of 10; kRounds if it depends on the rounding of hops
};

constexpr int kWorld = 10;
constexpr std::uint64_t kRounds = ~std::uint64_t{0};
constexpr Range kRanges[] = {
    {"half 60000", ncclFloat16, 0x7b53, 0x7b53, 0x7c00},
    {"half 6e-8", ncclFloat16, 0x0001, 0x0001, 0x000a},
    {"half -60000", ncclFloat16, 0xfb53, 0xfb53, 0xfc00},
    {"half 6144", ncclFloat16, 0x6e00, 0x6e00, 0x7b80},
    {"bfloat16 near the largest", ncclBfloat16, 0x7f7e, 0x7f7e, 0x7f80},
    {"bfloat16 largest", ncclBfloat16, 0x7f7f, 0x7f7f, 0x7f80},
    {"bfloat16 smallest", ncclBfloat16, 0x0001, 0x0001, 0x000a},
    {"e5m2 largest", ncclFloat8e5m2, 0x7b, 0x7b, 0x7b},      // fp8 saturates
    {"e5m2 smallest", ncclFloat8e5m2, 0x01, 0x01, kRounds},  // nine of them need a bit more
    {"e4m3 largest", ncclFloat8e4m3, 0x7e, 0x7e, 0x7e},
    {"e4m3 smallest", ncclFloat8e4m3, 0x01, 0x01, 0x0a},
};

// One reducing collective in which every rank's input is `input`; its output, on ranks that have
// one.
using Reduction = std::function<ncclResult_t(const void* input, void* output, std::size_t count,
                                             ncclDataType_t type, ncclRedOp_t op, ncclComm_t comm)>;
const std::vector<Reduction>& reductions() {
  static const std::vector<Reduction> all = {
      [](const void* input, void* output, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
         ncclComm_t comm) { return ncclAllReduce(input, output, count, type, op, comm, nullptr); },
      [](const void* input, void* output, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
         ncclComm_t comm) {
        const ncclResult_t result = ncclReduce(input, output, count, type, op, 2, comm, nullptr);
        if (result != ncclSuccess) return result;
        return ncclBroadcast(output, output, count, type, 2, comm, nullptr);
      },
      [](const void* input, void* output, std::size_t count, ncclDataType_t type, ncclRedOp_t op,
         ncclComm_t comm) {
        int world = 0;
        (void)ncclCommCount(comm, &world);
        const std::size_t part = count / static_cast<std::size_t>(world);
        return ncclReduceScatter(input, output, part, type, op, comm, nullptr);
      },
  };
  return all;
}

std::vector<std::byte> filled(std::size_t count, ncclDataType_t type, std::uint64_t bits) {
  std::vector<std::byte> bytes(count * size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(bytes.data() + i * size_of(type), &bits, size_of(type));
  }
  return bytes;
}

// The first element's bits, after checking that the next `count` are the same.
std::uint64_t only_value(const std::vector<std::byte>& bytes, std::size_t count,
                         ncclDataType_t type) {
  std::uint64_t first = 0;
  std::memcpy(&first, bytes.data(), size_of(type));
  for (std::size_t i = 0; i < count; ++i) {
    EXPECT_EQ(std::memcmp(bytes.data() + i * size_of(type), bytes.data(), size_of(type)), 0)
        << "element " << i << " differs from the first";
    if (testing::Test::HasFailure()) break;
  }
  return first;
}

TEST(LowPrecision, AverageAndSumAtTheEndsOfTheRange) {
  with_ranks(kWorld, [](ncclComm_t comm, int) {
    for (const Range& range : kRanges) {
      for (const std::size_t count : {100U, 30'000U}) {
        const auto input = filled(count, range.type, range.given);
        for (std::size_t i = 0; i < reductions().size(); ++i) {
          const std::size_t has = i == 2 ? count / kWorld : count;
          auto output = filled(count, range.type, 0xffff);
          ASSERT_TRUE(
              ok(reductions()[i](input.data(), output.data(), count, range.type, ncclAvg, comm)));
          EXPECT_EQ(only_value(output, has, range.type), range.average)
              << "average of " << range.what << ", reduction " << i << ", count " << count;
          ASSERT_TRUE(
              ok(reductions()[i](input.data(), output.data(), count, range.type, ncclSum, comm)));
          if (range.sum == kRounds) continue;
          EXPECT_EQ(only_value(output, has, range.type), range.sum)
              << "sum of " << range.what << ", reduction " << i << ", count " << count;
        }
      }
    }
  });
}

std::uint64_t nan_of(ncclDataType_t type) {
  switch (type) {
    case ncclFloat16:
      return 0x7e00;
    case ncclBfloat16:
      return 0x7fc0;
    case ncclFloat8e4m3:
      return 0x7f;
    case ncclFloat8e5m2:
      return 0x7e;
    case ncclFloat32:
      return 0x7fc00000;
    default:
      return 0x7ff8000000000000;
  }
}

bool is_nan(const std::byte* at, ncclDataType_t type) {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size_of(type));
  switch (type) {
    case ncclFloat16:
      return (bits & 0x7fff) > 0x7c00;
    case ncclBfloat16:
      return (bits & 0x7fff) > 0x7f80;
    case ncclFloat8e4m3:
      return (bits & 0x7f) == 0x7f;
    case ncclFloat8e5m2:
      return (bits & 0x7f) > 0x7c;
    case ncclFloat32:
      return (bits & 0x7fffffff) > 0x7f800000;
    default:
      return (bits & 0x7fffffffffffffff) > 0x7ff0000000000000;
  }
}

// Element i is NaN on rank i % (world + 1), if there is such a rank; of either sign.
TEST(LowPrecision, NanWinsWhoeverHoldsIt) {
  constexpr int kRanks = 4;
  with_ranks(kRanks, [](ncclComm_t comm, int rank) {
    for (const ncclDataType_t type :
         {ncclFloat16, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2, ncclFloat32, ncclFloat64}) {
      const std::size_t element = size_of(type);
      for (const ncclRedOp_t op : {ncclMax, ncclMin, ncclSum, ncclProd, ncclAvg}) {
        for (const std::size_t count : {103U, 30'011U}) {
          std::vector<std::byte> input(count * element), output(count * element);
          for (std::size_t i = 0; i < count; ++i) {
            std::byte* const at = input.data() + i * element;
            store(1.0, type, at);
            if (i % (kRanks + 1) != static_cast<std::size_t>(rank)) continue;
            const std::uint64_t nan = nan_of(type) | (i % 2 << (8 * element - 1));
            std::memcpy(at, &nan, element);
          }
          ASSERT_TRUE(
              ok(ncclAllReduce(input.data(), output.data(), count, type, op, comm, nullptr)));
          for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(is_nan(output.data() + i * element, type), i % (kRanks + 1) < kRanks)
                << name_of(type) << ", operation " << op << ", element " << i << " of " << count;
          }
        }
      }
    }
  });
}

}  // namespace
}  // namespace gyre::test
