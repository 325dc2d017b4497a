// How kernels that wait come to an end: their rank aborts, a peer does, a peer is in another call,
// or a peer is late.
#include <atomic>
#include <barrier>
#include <cstdlib>

#include "tests/collective/device_ranks.hpp"

namespace gyre::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kSmall = 100;  // in the short form
constexpr std::size_t kLarge = 400'000;

// A call by one rank: with a communicator, on a stream, in memory of the device.
using Issue = std::function<ncclResult_t(const DeviceRankUnderTest&, float* data)>;

Issue all_reduce(std::size_t count, ncclRedOp_t op = ncclSum) {
  return [=](const DeviceRankUnderTest& one, float* data) {
    return ncclAllReduce(data, data, count, ncclFloat32, op, one.comm, one.stream);
  };
}
Issue broadcast(std::size_t count, int root) {
  return [=](const DeviceRankUnderTest& one, float* data) {
    return ncclBroadcast(data, data, count, ncclFloat32, root, one.comm, one.stream);
  };
}
Issue send(std::size_t count, int to) {
  return [=](const DeviceRankUnderTest& one, float* data) {
    return ncclSend(data, count, ncclFloat32, to, one.comm, one.stream);
  };
}
Issue receive(std::size_t count, int from) {
  return [=](const DeviceRankUnderTest& one, float* data) {
    return ncclRecv(data, count, ncclFloat32, from, one.comm, one.stream);
  };
}
Issue nothing() {
  return [](const DeviceRankUnderTest&, float*) { return ncclSuccess; };
}

struct Named {
  const char* name;
  Issue issue;
};
std::ostream& operator<<(std::ostream& out, const Named& named) { return out << named.name; }
std::string name_of_case(const testing::TestParamInfo<Named>& one) { return one.param.name; }

// Each rank makes its call; what its communicator then says. Aborts at the end.
std::vector<Verdict> provoke(const std::vector<Issue>& issues) {
  std::vector<Verdict> verdicts(issues.size());
  const int world = static_cast<int>(issues.size());
  const ncclUniqueId id = new_id();
  // A fault that is found while another rank still opens is that one's init's error.
  std::barrier opened(world);
  on_threads(world, [&](int rank) {
    const auto at = static_cast<std::size_t>(rank);
    DeviceRankUnderTest one{rank, nullptr, rank_stream()};
    const ncclResult_t init = ncclCommInitRank(&one.comm, world, id, rank);
    opened.arrive_and_wait();
    ASSERT_TRUE(ok(init));
    DeviceArray<float> data(kLarge, 1.0F);
    // Refused if what a peer found out is known here already.
    (void)issues[at](one, data.data());
    verdicts[at] = verdict_of(one.comm);
    EXPECT_TRUE(ok(ncclCommAbort(one.comm)));
    EXPECT_TRUE(done(one.stream));
  });
  return verdicts;
}

class Waiting : public testing::TestWithParam<Named> {};

// The other rank never calls.
TEST_P(Waiting, EndsWithTheAbortOfItsRank) {
  GYRE_NEEDS_DEVICE();
  std::barrier aborted(2);
  const ncclUniqueId id = new_id();
  on_threads(2, [&](int rank) {
    DeviceRankUnderTest one{rank, nullptr, rank_stream()};
    const ncclResult_t opened = ncclCommInitRank(&one.comm, 2, id, rank);
    DeviceArray<float> data(kLarge, 1.0F);
    if (opened == ncclSuccess && rank == 0) {
      EXPECT_TRUE(ok(GetParam().issue(one, data.data())));
      std::this_thread::sleep_for(50ms);  // the moment of the fault: the kernel is at work
      const auto begun = std::chrono::steady_clock::now();
      EXPECT_TRUE(ok(ncclCommAbort(one.comm)));
      EXPECT_LT(std::chrono::steady_clock::now() - begun, 2s);
      EXPECT_TRUE(done(one.stream));
    }
    aborted.arrive_and_wait();
    ASSERT_TRUE(ok(opened));
    if (rank == 0) return;
    const Verdict verdict = verdict_of(one.comm);
    EXPECT_EQ(verdict.code, ncclRemoteError);
    EXPECT_TRUE(verdict.names("rank 0")) << verdict.text;
    EXPECT_TRUE(ok(ncclCommAbort(one.comm)));
  });
}

// Rank 0 waits in a call that rank 1 never makes: it ends its communicator with `end` instead. What
// rank 0 is told.
Verdict told_when_peer_ends(const Issue& issue, ncclResult_t (*end)(ncclComm_t)) {
  const ncclUniqueId id = new_id();
  std::barrier issued(2);
  Verdict verdict{};
  on_threads(2, [&](int rank) {
    DeviceRankUnderTest one{rank, nullptr, rank_stream()};
    const ncclResult_t opened = ncclCommInitRank(&one.comm, 2, id, rank);
    DeviceArray<float> data(kLarge, 1.0F);
    if (opened == ncclSuccess && rank == 0) {
      EXPECT_TRUE(ok(issue(one, data.data())));
    }
    issued.arrive_and_wait();
    ASSERT_TRUE(ok(opened));
    if (rank == 1) {
      EXPECT_TRUE(ok(end(one.comm)));
      return;
    }
    verdict = verdict_of(one.comm);
    EXPECT_TRUE(done(one.stream));
    EXPECT_TRUE(ok(ncclCommAbort(one.comm)));
  });
  return verdict;
}

TEST_P(Waiting, EndsWithTheAbortOfItsPeer) {
  GYRE_NEEDS_DEVICE();
  const Verdict verdict = told_when_peer_ends(GetParam().issue, ncclCommAbort);
  EXPECT_EQ(verdict.code, ncclRemoteError);
  EXPECT_TRUE(verdict.names("rank 1")) << verdict.text;
}

TEST_P(Waiting, EndsWhenItsPeerDestroys) {
  GYRE_NEEDS_DEVICE();
  const Verdict verdict = told_when_peer_ends(GetParam().issue, ncclCommDestroy);
  EXPECT_EQ(verdict.code, ncclRemoteError);
  EXPECT_TRUE(verdict.names("rank 1") && verdict.names("has destroyed")) << verdict.text;
}

INSTANTIATE_TEST_SUITE_P(Calls, Waiting,
                         testing::Values(Named{"SmallAllReduce", all_reduce(kSmall)},
                                         Named{"LargeAllReduce", all_reduce(kLarge)},
                                         Named{"Receive", receive(kLarge, 1)},
                                         Named{"SmallBroadcast", broadcast(kSmall, 1)},
                                         Named{"Broadcast", broadcast(kLarge, 1)}),
                         name_of_case);

// What is still queued then has its turn while the communicator ends.
TEST(Queued, CallsEndWithTheAbort) {
  GYRE_NEEDS_DEVICE();
  for (int round = 0; round < 20; ++round) {
    const ncclUniqueId id = new_id();
    std::barrier opened(2);
    on_threads(2, [&](int rank) {
      DeviceRankUnderTest one{rank, nullptr, rank_stream()};
      EXPECT_TRUE(ok(ncclCommInitRank(&one.comm, 2, id, rank)));
      opened.arrive_and_wait();
      if (one.comm == nullptr) return;
      DeviceArray<float> data(kSmall, 1.0F);
      // Whichever rank is first ends the calls of the other.
      for (int call = 0; call < 100; ++call) (void)all_reduce(kSmall)(one, data.data());
      EXPECT_TRUE(ok(ncclCommAbort(one.comm)));
      EXPECT_TRUE(done(one.stream));
    });
  }
}

// Only where the time limit is set, and it must be short.
TEST(Deadline, NamesTheLateRankAndTheCall) {
  GYRE_NEEDS_DEVICE();
  const char* limit = std::getenv("GYRE_TIMEOUT");
  if (limit == nullptr) GTEST_SKIP() << "GYRE_TIMEOUT is not set";
  struct Late {
    Issue issue;
    const char* text;
  };
  for (const auto& [issue, text] : {Late{all_reduce(kSmall), "AllReduce of 100 x float, sum"},
                                    Late{all_reduce(kLarge), "AllReduce of 400000 x float, sum"},
                                    Late{receive(kLarge, 2), "a message of 400000 x float"}}) {
    const auto verdicts = provoke({issue, nothing(), nothing()});
    for (const Verdict& verdict : verdicts) {
      EXPECT_TRUE(verdict.code == ncclTimeout || verdict.code == ncclRemoteError) << verdict.code;
      EXPECT_TRUE(verdict.names("GYRE_TIMEOUT")) << verdict.text;
      EXPECT_TRUE(verdict.names("is late")) << verdict.text;
      EXPECT_TRUE(verdict.names(text)) << verdict.text;
    }
    EXPECT_TRUE(verdicts[0].names("rank 1") || verdicts[0].names("rank 2")) << verdicts[0].text;
  }
}

struct Dispute {
  const char* name;
  Issue usual, odd;
};
std::ostream& operator<<(std::ostream& out, const Dispute& dispute) { return out << dispute.name; }

class Disagreement : public testing::TestWithParam<Dispute> {};

// Rank 2 makes another call than the others: every rank is told, and one of them which rank it is.
TEST_P(Disagreement, IsToldToEveryRank) {
  GYRE_NEEDS_DEVICE();
  const Issue usual = GetParam().usual, odd = GetParam().odd;
  const auto verdicts = provoke({usual, usual, odd});
  bool named = false;
  for (const Verdict& verdict : verdicts) {
    EXPECT_TRUE(verdict.code == ncclInvalidUsage || verdict.code == ncclRemoteError)
        << verdict.code;
    EXPECT_TRUE(verdict.names("disagree")) << verdict.text;
    named = named || verdict.names("rank 2");
  }
  EXPECT_TRUE(named) << verdicts[0].text;
}

INSTANTIATE_TEST_SUITE_P(
    Calls, Disagreement,
    testing::Values(Dispute{"Count", all_reduce(kSmall), all_reduce(kSmall + 1)},
                    Dispute{"LargeCount", all_reduce(kLarge), all_reduce(kLarge - 1)},
                    Dispute{"SmallAndLarge", all_reduce(kSmall), all_reduce(kLarge)},
                    Dispute{"LargeAndSmall", all_reduce(kLarge), all_reduce(kSmall)},
                    Dispute{"Operation", all_reduce(kSmall), all_reduce(kSmall, ncclMax)},
                    Dispute{"LargeOperation", all_reduce(kLarge), all_reduce(kLarge, ncclMax)},
                    Dispute{"Collective", all_reduce(kSmall), broadcast(kSmall, 0)},
                    Dispute{"Root", broadcast(kSmall, 1), broadcast(kSmall, 0)},
                    Dispute{"BroadcastLength", broadcast(kSmall, 1), broadcast(kSmall + 1, 1)},
                    Dispute{"LargeCollective", all_reduce(kLarge), broadcast(kLarge, 0)}),
    [](const auto& one) { return std::string(one.param.name); });

// Both views are in the text: who expects what, and what came.
TEST(Disagreement, NamesBothSides) {
  GYRE_NEEDS_DEVICE();
  for (const auto& [one, other] : {std::pair{kSmall, kSmall + 1}, std::pair{kLarge - 8, kLarge}}) {
    const auto verdicts = provoke({all_reduce(one), all_reduce(other)});
    for (const Verdict& verdict : verdicts) {
      for (const std::size_t count : {one, other}) {
        EXPECT_TRUE(verdict.names(std::to_string(count))) << verdict.text;
      }
      EXPECT_TRUE(verdict.names("rank 0") && verdict.names("rank 1")) << verdict.text;
    }
  }
}

TEST(Disagreement, MessagesOfOtherLengths) {
  GYRE_NEEDS_DEVICE();
  for (const auto& [sent, received] : {std::pair{std::size_t{3}, std::size_t{5}},
                                       std::pair{kLarge, kLarge - 1}, std::pair{kLarge, kSmall}}) {
    const auto verdicts = provoke({send(sent, 1), receive(received, 0)});
    EXPECT_EQ(verdicts[1].code, ncclInvalidUsage);
    EXPECT_EQ(verdicts[0].code, ncclRemoteError);
    for (const Verdict& verdict : verdicts) {
      EXPECT_TRUE(verdict.names(std::to_string(sent))) << verdict.text;
      EXPECT_TRUE(verdict.names(std::to_string(received))) << verdict.text;
    }
  }
}

// Calls after the fault say what it was.
TEST(Disagreement, IsWhatLaterCallsSay) {
  GYRE_NEEDS_DEVICE();
  const ncclUniqueId id = new_id();
  on_threads(2, [&](int rank) {
    DeviceRankUnderTest one{rank, nullptr, rank_stream()};
    ASSERT_TRUE(ok(ncclCommInitRank(&one.comm, 2, id, rank)));
    DeviceArray<float> data(kSmall + 1, 1.0F);
    const std::size_t count = kSmall + static_cast<std::size_t>(rank);
    (void)all_reduce(count)(one, data.data());
    EXPECT_NE(verdict_of(one.comm).code, ncclSuccess);
    EXPECT_NE(all_reduce(1)(one, data.data()), ncclSuccess);
    EXPECT_NE(std::string(ncclGetLastError(one.comm)).find("disagree"), std::string::npos);
    EXPECT_TRUE(ok(ncclCommAbort(one.comm)));
    EXPECT_TRUE(done(one.stream));
  });
}

}  // namespace
}  // namespace gyre::test
