// Buffers that end exactly where memory ends, or start off every alignment, in all collectives.
#include "tests/collective/cases.hpp"
#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 3;
constexpr std::uint64_t kPrimes[] = {1, 2, 3, 13, 127, 1009, 16'411};

void run(const std::vector<Case>& cases) {
  with_ranks(kWorld, [&](ncclComm_t comm, int rank) {
    const LocalRanks local{kWorld, {{rank, comm}}};
    for (const Case& one : cases) {
      const std::string wrong = run_case(one, local);
      ASSERT_EQ(wrong, "") << describe(one);
    }
  });
}

Case edge_case(int kind, int type, std::uint64_t number) {
  Case one;
  one.kind = static_cast<Kind>(kind);
  one.type = static_cast<ncclDataType_t>(type);
  one.op = reduces(one.kind) ? static_cast<Op>(number % kOps) : Op::sum;
  one.root = static_cast<int>(number % kWorld);
  one.memory = Memory::edge;
  one.seed = number;
  return one;
}

TEST(PageEdge, BuffersEndWhereMemoryEnds) {
  std::vector<Case> cases;
  std::uint64_t number = test_seed() * 1'000'003;
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int type = 0; type < kTypes; ++type) {
      for (const std::uint64_t count : kPrimes) {
        Case one = edge_case(kind, type, ++number);
        one.count = count;
        one.in_place = number % 2 == 0;
        cases.push_back(one);
      }
    }
  }
  run(cases);
}

TEST(PageEdge, EveryOffset) {
  std::vector<Case> cases;
  std::uint64_t number = test_seed() * 1'000'033;
  for (int kind = 0; kind < kKinds; ++kind) {
    for (int type = 0; type < kTypes; ++type) {
      for (std::size_t offset = 1; offset <= 15; ++offset) {
        Case one = edge_case(kind, type, ++number);
        one.count = number % 3 == 0 ? 1009 : 61;
        one.in_place = number % 2 == 0;
        one.offset = offset;
        cases.push_back(one);
      }
    }
  }
  run(cases);
}

}  // namespace
}  // namespace gyre::test
