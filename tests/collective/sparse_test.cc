// All-to-all with many empty parts, and calls about nothing at all: they keep their place in the
// order of calls and the later ones still match.
#include <numeric>
#include <random>

#include "tests/collective/ranks.hpp"

extern "C" ncclResult_t ncclAlltoAllv(const void*, const size_t[], const size_t[], void*,
                                      const size_t[], const size_t[], ncclDataType_t, ncclComm_t,
                                      cudaStream_t);

namespace gyre::test {
namespace {

constexpr int kWorld = 6;
constexpr int kRounds = 500;
constexpr int kIdle = 3;  // takes part with nothing to send or receive

using Matrix = std::vector<std::vector<std::size_t>>;  // [from][to]

Matrix draw(std::mt19937_64& random) {
  Matrix counts(kWorld, std::vector<std::size_t>(kWorld, 0));
  for (int from = 0; from < kWorld; ++from) {
    for (int to = 0; to < kWorld; ++to) {
      const std::uint64_t bits = random();
      if (from == kIdle || to == kIdle || bits % 2 == 0) continue;
      // Mostly small; some beyond a slot.
      counts[static_cast<std::size_t>(from)][static_cast<std::size_t>(to)] =
          bits % 32 == 1 ? 40'000 + bits / 32 % 1000 : bits / 32 % 100;
    }
  }
  return counts;
}

std::int32_t element(int round, int from, int to, std::size_t index) {
  return round * 1'000'003 + from * 10'007 + to * 101 + static_cast<std::int32_t>(index);
}

std::vector<std::size_t> starts(const std::vector<std::size_t>& counts) {
  std::vector<std::size_t> offsets(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), std::size_t{0});
  return offsets;
}

void exchange(ncclComm_t comm, int rank, int round, const Matrix& matrix) {
  const auto r = static_cast<std::size_t>(rank);
  const std::vector<std::size_t>& sent = matrix[r];
  std::vector<std::size_t> received;
  for (const auto& row : matrix) received.push_back(row[r]);
  const auto send_at = starts(sent), receive_at = starts(received);
  std::vector<std::int32_t> input, output(receive_at.back() + received.back(), -1), wanted;
  for (int peer = 0; peer < kWorld; ++peer) {
    const auto p = static_cast<std::size_t>(peer);
    for (std::size_t i = 0; i < sent[p]; ++i) input.push_back(element(round, rank, peer, i));
    for (std::size_t i = 0; i < received[p]; ++i) wanted.push_back(element(round, peer, rank, i));
  }
  ASSERT_TRUE(ok(ncclAlltoAllv(input.empty() ? nullptr : input.data(), sent.data(), send_at.data(),
                               output.empty() ? nullptr : output.data(), received.data(),
                               receive_at.data(), ncclInt32, comm, nullptr)));
  ASSERT_TRUE(output == wanted) << "rank " << rank << ", round " << round;
}

void calls_about_nothing(ncclComm_t comm, int rank, int round) {
  const int right = (rank + 1) % kWorld, left = (rank + kWorld - 1) % kWorld;
  const auto type = static_cast<ncclDataType_t>(round % ncclNumTypes);
  EXPECT_TRUE(ok(ncclAllReduce(nullptr, nullptr, 0, type, ncclSum, comm, nullptr)));
  EXPECT_TRUE(ok(ncclBroadcast(nullptr, nullptr, 0, type, round % kWorld, comm, nullptr)));
  EXPECT_TRUE(ok(ncclReduce(nullptr, nullptr, 0, type, ncclMax, round % kWorld, comm, nullptr)));
  EXPECT_TRUE(ok(ncclAllGather(nullptr, nullptr, 0, type, comm, nullptr)));
  EXPECT_TRUE(ok(ncclReduceScatter(nullptr, nullptr, 0, type, ncclAvg, comm, nullptr)));
  EXPECT_TRUE(ok(ncclAlltoAll(nullptr, nullptr, 0, type, comm, nullptr)));
  EXPECT_TRUE(ok(ncclGather(nullptr, nullptr, 0, type, 0, comm, nullptr)));
  EXPECT_TRUE(ok(ncclScatter(nullptr, nullptr, 0, type, 0, comm, nullptr)));
  EXPECT_TRUE(ok(ncclGroupStart()));
  EXPECT_TRUE(ok(ncclSend(nullptr, 0, type, right, comm, nullptr)));
  EXPECT_TRUE(ok(ncclRecv(nullptr, 0, type, left, comm, nullptr)));
  EXPECT_TRUE(ok(ncclGroupEnd()));
}

TEST(Sparse, AllToAllVKeepsTheOrderOfCalls) {
  const std::uint64_t seed = test_seed();
  with_ranks(kWorld, [seed](ncclComm_t comm, int rank) {
    std::mt19937_64 random(seed);  // the same on every rank
    for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
      exchange(comm, rank, round, draw(random));
      if (round % 10 == 0) calls_about_nothing(comm, rank, round);
      std::int64_t sum = round + rank;
      ASSERT_TRUE(ok(ncclAllReduce(&sum, &sum, 1, ncclInt64, ncclSum, comm, nullptr)));
      ASSERT_EQ(sum, kWorld * round + kWorld * (kWorld - 1) / 2) << "round " << round;
    }
  });
}

}  // namespace
}  // namespace gyre::test
