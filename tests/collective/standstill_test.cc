// Two ranks that wait for each other in calls of which no slot ever arrives: both are told, with
// both calls. Ranks that are merely slow are not taken for that.
#include <chrono>
#include <mutex>

#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kCount = 100;

using Issue = std::function<ncclResult_t(ncclComm_t)>;

ncclResult_t receive(ncclComm_t comm, int peer) {
  std::vector<float> into(kCount);
  return ncclRecv(into.data(), kCount, ncclFloat32, peer, comm, nullptr);
}
ncclResult_t send(ncclComm_t comm, int peer) {
  const std::vector<float> from(kCount);
  return ncclSend(from.data(), kCount, ncclFloat32, peer, comm, nullptr);
}
Issue receive_from(int peer) {
  return [peer](ncclComm_t comm) { return receive(comm, peer); };
}
Issue broadcast_from(int root) {
  return [root](ncclComm_t comm) {
    std::vector<float> data(2 * kCount);
    return ncclBroadcast(data.data(), data.data(), 2 * kCount, ncclFloat32, root, comm, nullptr);
  };
}
Issue scatter_from(int root) {
  return [root](ncclComm_t comm) {
    std::vector<float> in(2 * kCount);
    std::vector<float> out(kCount);
    return ncclScatter(in.data(), out.data(), kCount, ncclFloat32, root, comm, nullptr);
  };
}

// Every rank's call fails, well before a test's time is over, and the texts hold all of `parts`.
void expect_told(const std::vector<Issue>& calls, const std::vector<std::string>& parts) {
  std::mutex mutex;
  std::string texts;
  const ncclUniqueId id = new_id();
  const int world = static_cast<int>(calls.size());
  on_threads(world, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_TRUE(ok(ncclCommInitRank(&comm, world, id, rank)));
    const auto since = std::chrono::steady_clock::now();
    const ncclResult_t result = calls[static_cast<std::size_t>(rank)](comm);
    EXPECT_TRUE(result == ncclInvalidUsage || result == ncclRemoteError) << result;
    EXPECT_LT(std::chrono::steady_clock::now() - since, 20s);
    {
      const std::lock_guard lock(mutex);
      texts += ncclGetLastError(nullptr) + std::string("\n");
    }
    EXPECT_TRUE(ok(ncclCommAbort(comm)));
  });
  for (const std::string& part : parts) EXPECT_NE(texts.find(part), std::string::npos) << texts;
}

TEST(Standstill, AReceiveFromARankInABroadcastOfOurs) {
  expect_told({receive_from(1), broadcast_from(0)},
              {"wait for each other", "rank 0", "a message of 100 x float", "rank 1",
               "Broadcast of 200 x float, root 0"});
}
TEST(Standstill, AReceiveFromARankInAScatterOfOurs) {
  expect_told({receive_from(1), scatter_from(0)},
              {"wait for each other", "Scatter of 100 x float"});
}
TEST(Standstill, TwoReceives) {
  expect_told({receive_from(1), receive_from(0)}, {"wait for each other", "a message of 100"});
}
TEST(Standstill, OfTwoRanksIsToldToTheThirdThatWaitsForThem) {
  expect_told({receive_from(1), receive_from(0), receive_from(0)},
              {"wait for each other", "rank 0", "rank 1"});
}
TEST(Standstill, AfterOtherMessagesAndInAGroup) {
  expect_told({[](ncclComm_t comm) {
                 for (int i = 0; i < 7; ++i) EXPECT_TRUE(ok(send(comm, 1)));
                 EXPECT_TRUE(ok(receive(comm, 1)));
                 return receive(comm, 1);
               },
               [](ncclComm_t comm) {
                 for (int i = 0; i < 7; ++i) EXPECT_TRUE(ok(receive(comm, 0)));
                 EXPECT_TRUE(ok(send(comm, 0)));
                 std::vector<float> into(2 * kCount);
                 EXPECT_TRUE(ok(ncclGroupStart()));
                 for (const std::size_t at : {std::size_t{0}, kCount}) {
                   EXPECT_TRUE(ok(ncclRecv(&into[at], kCount, ncclFloat32, 0, comm, nullptr)));
                 }
                 return ncclGroupEnd();
               }},
              {"wait for each other"});
}

// Long enough for every rank to ask twice.
void be_late() { std::this_thread::sleep_for(4s); }

TEST(NoStandstill, ARankThatIsLate) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    if (rank == 0) {
      EXPECT_TRUE(ok(receive(comm, 1)));
      EXPECT_TRUE(ok(send(comm, 1)));
    } else {
      be_late();
      EXPECT_TRUE(ok(send(comm, 0)));
      EXPECT_TRUE(ok(receive(comm, 0)));
    }
  });
}

TEST(NoStandstill, AChainOfRanks) {
  with_ranks(3, [](ncclComm_t comm, int rank) {
    if (rank == 2) be_late();
    EXPECT_TRUE(rank == 2 || ok(receive(comm, rank + 1)));
    EXPECT_TRUE(rank == 0 || ok(send(comm, rank - 1)));
    EXPECT_TRUE(ok(broadcast_from(2)(comm)));
  });
}

// Each of two ranks waited for the other one at length, one after the other.
TEST(NoStandstill, RanksThatWaitInTurn) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    for (int round = 0; round < 3; ++round) {
      if (rank == round % 2) {
        EXPECT_TRUE(ok(receive(comm, 1 - rank)));
      } else {
        std::this_thread::sleep_for(1500ms);
        EXPECT_TRUE(ok(send(comm, 1 - rank)));
      }
    }
  });
}

// In one run of this program slots take longer than ranks wait before they ask; both directions,
// several messages each.
TEST(NoStandstill, LongTransfersBothWaysInOneGroup) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    constexpr std::size_t kLong = 50'000;
    const std::vector<float> out(2 * kLong, static_cast<float>(rank + 1));
    std::vector<float> in(2 * kLong);
    EXPECT_TRUE(ok(ncclGroupStart()));
    for (const std::size_t at : {std::size_t{0}, kLong}) {
      EXPECT_TRUE(ok(ncclSend(&out[at], kLong, ncclFloat32, 1 - rank, comm, nullptr)));
      EXPECT_TRUE(ok(ncclRecv(&in[at], kLong, ncclFloat32, 1 - rank, comm, nullptr)));
    }
    EXPECT_TRUE(ok(ncclGroupEnd()));
    EXPECT_EQ(in, std::vector<float>(2 * kLong, static_cast<float>(2 - rank)));
  });
}

}  // namespace
}  // namespace gyre::test
