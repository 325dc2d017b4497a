// Ranks that disagree about a call: the error names them and both views, nobody waits for ever, and
// no byte outside the buffers is written.
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <mutex>

#include "tests/collective/local_ranks.hpp"
#include "tests/collective/ranks.hpp"
#include "tests/collective/values.hpp"

namespace gyre::test {
namespace {

using namespace std::chrono_literals;

// What each rank got from the call, or failing that from its communicator within 10 s.
struct Told {
  ncclResult_t call = ncclSuccess;
  ncclResult_t later = ncclSuccess;
  std::string text;
};

class Witnesses {
 public:
  explicit Witnesses(int world) : told_(static_cast<std::size_t>(world)) {}
  void hear(ncclComm_t comm, int rank, ncclResult_t result) {
    Told told{result, ncclSuccess, ncclGetLastError(nullptr)};
    const auto until = std::chrono::steady_clock::now() + 10s;
    while (told.later == ncclSuccess && std::chrono::steady_clock::now() < until) {
      ASSERT_TRUE(ok(ncclCommGetAsyncError(comm, &told.later)));
      std::this_thread::yield();
    }
    const std::lock_guard lock(mutex_);
    texts_ += told.text + "\n";
    told_[static_cast<std::size_t>(rank)] = std::move(told);
  }
  const Told& operator[](int rank) const { return told_[static_cast<std::size_t>(rank)]; }
  int world() const { return static_cast<int>(told_.size()); }
  const std::string& texts() const { return texts_; }

 private:
  std::mutex mutex_;
  std::vector<Told> told_;
  std::string texts_;
};

// Issues one call per rank and aborts; returns what the ranks were told.
using Issue = std::function<ncclResult_t(ncclComm_t, int rank)>;
void provoke(Witnesses& witnesses, const Issue& issue) {
  const ncclUniqueId id = new_id();
  on_threads(witnesses.world(), [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_TRUE(ok(ncclCommInitRank(&comm, witnesses.world(), id, rank)));
    witnesses.hear(comm, rank, issue(comm, rank));
    EXPECT_TRUE(ok(ncclCommAbort(comm)));
  });
}

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

struct Message {
  std::size_t count;
  ncclDataType_t type;
};

void mismatch(const Message& sent, const Message& received) {
  Witnesses witnesses(2);
  const auto bytes = [](const Message& message) { return message.count * size_of(message.type); };
  Guarded output(bytes(received), 0, Memory::edge);
  const std::vector<std::byte> input(bytes(sent));
  provoke(witnesses, [&](ncclComm_t comm, int rank) {
    if (rank == 0) return ncclSend(input.data(), sent.count, sent.type, 1, comm, nullptr);
    return ncclRecv(output.data(), received.count, received.type, 0, comm, nullptr);
  });
  EXPECT_EQ(witnesses[1].call, ncclInvalidUsage);
  // The sender may have been done already; then the communicator tells it.
  EXPECT_TRUE(witnesses[0].call == ncclSuccess || witnesses[0].call == ncclRemoteError)
      << witnesses[0].call;
  EXPECT_EQ(witnesses[0].later, ncclRemoteError);
  EXPECT_TRUE(output.intact());
  EXPECT_TRUE(contains(witnesses.texts(), "rank 0")) << witnesses.texts();
  EXPECT_TRUE(contains(witnesses.texts(), std::to_string(sent.count))) << witnesses.texts();
  EXPECT_TRUE(contains(witnesses.texts(), std::to_string(received.count))) << witnesses.texts();
}

TEST(Mismatch, ReceiveLongerThanSend) { mismatch({3, ncclInt32}, {5, ncclInt32}); }
TEST(Mismatch, SendLongerThanReceive) { mismatch({5, ncclInt32}, {3, ncclInt32}); }
TEST(Mismatch, OtherTypeOfTheSameSize) { mismatch({4, ncclInt32}, {4, ncclFloat32}); }
TEST(Mismatch, OtherTypeOfOtherSize) { mismatch({4, ncclInt8}, {4, ncclFloat64}); }
TEST(Mismatch, LongReceiveLongerThanSend) { mismatch({300'000, ncclInt32}, {500'000, ncclInt32}); }
TEST(Mismatch, LongSendLongerThanReceive) { mismatch({500'000, ncclInt32}, {300'000, ncclInt32}); }
TEST(Mismatch, LongSendShortReceive) { mismatch({500'000, ncclInt32}, {3, ncclInt32}); }
TEST(Mismatch, NothingSent) { mismatch({0, ncclInt32}, {3, ncclInt32}); }
TEST(Mismatch, NothingExpected) { mismatch({3, ncclInt32}, {0, ncclInt32}); }

TEST(Mismatch, SendToOneselfOfOtherSize) {
  with_ranks(2, [](ncclComm_t comm, int rank) {
    int given[5] = {}, found[5] = {};
    EXPECT_TRUE(ok(ncclGroupStart()));
    EXPECT_TRUE(ok(ncclSend(given, 3, ncclInt32, rank, comm, nullptr)));
    EXPECT_TRUE(ok(ncclRecv(found, 5, ncclInt32, rank, comm, nullptr)));
    EXPECT_EQ(ncclGroupEnd(), ncclInvalidUsage);
  });
}

constexpr int kWorld = 3;
constexpr int kOdd = 2;
constexpr std::size_t kMost = 400'000;

// Rank 2 makes another call than the others; every rank learns of it, and the text names rank 2.
void odd_one(const Issue& usual, const Issue& odd) {
  Witnesses witnesses(kWorld);
  provoke(witnesses,
          [&](ncclComm_t comm, int rank) { return (rank == kOdd ? odd : usual)(comm, rank); });
  int found = 0;
  for (int rank = 0; rank < kWorld; ++rank) {
    EXPECT_NE(witnesses[rank].later, ncclSuccess) << "rank " << rank << " was told nothing";
    if (witnesses[rank].call == ncclInvalidUsage) ++found;
  }
  EXPECT_GE(found, 1) << witnesses.texts();
  EXPECT_TRUE(contains(witnesses.texts(), "disagree")) << witnesses.texts();
  EXPECT_TRUE(contains(witnesses.texts(), "rank 2")) << witnesses.texts();
}

struct Room {
  std::vector<float> input = std::vector<float>(kMost * kWorld);
  std::vector<float> output = std::vector<float>(kMost * kWorld);
};

struct Reduction {
  std::size_t count = 100;
  ncclDataType_t type = ncclFloat32;
  ncclRedOp_t op = ncclSum;
};

Issue all_reduce(const Reduction& one) {
  return [one](ncclComm_t comm, int) {
    Room room;
    return ncclAllReduce(room.input.data(), room.output.data(), one.count, one.type, one.op, comm,
                         nullptr);
  };
}
Issue broadcast(int root, std::size_t count) {
  return [root, count](ncclComm_t comm, int) {
    Room room;
    return ncclBroadcast(room.input.data(), room.output.data(), count, ncclFloat32, root, comm,
                         nullptr);
  };
}

TEST(Disagreement, Count) { odd_one(all_reduce({.count = 100}), all_reduce({.count = 101})); }
TEST(Disagreement, LargeCount) {
  odd_one(all_reduce({.count = kMost}), all_reduce({.count = kMost - 1}));
}
TEST(Disagreement, SmallAndLarge) {
  odd_one(all_reduce({.count = kMost}), all_reduce({.count = 10}));
}
TEST(Disagreement, Type) {
  odd_one(all_reduce({.type = ncclFloat32}), all_reduce({.type = ncclInt32}));
}
TEST(Disagreement, Operation) { odd_one(all_reduce({.op = ncclSum}), all_reduce({.op = ncclMax})); }
TEST(Disagreement, LargeOperation) {
  odd_one(all_reduce({.count = kMost, .op = ncclSum}), all_reduce({.count = kMost, .op = ncclMin}));
}
TEST(Disagreement, Collective) { odd_one(all_reduce({}), broadcast(0, 100)); }
TEST(Disagreement, NothingOnOneRank) {
  odd_one(all_reduce({.count = 100}), all_reduce({.count = 0}));
}
TEST(Disagreement, SomethingOnOneRank) {
  odd_one(all_reduce({.count = 0}), all_reduce({.count = 100}));
}

// Broadcasts with different roots may all end (short ones, and over wires whatever the sockets
// buffer): the next call finds out.
Issue two_broadcasts(int root, std::size_t count) {
  return [root, count](ncclComm_t comm, int rank) {
    const ncclResult_t first = broadcast(root, count)(comm, rank);
    return first != ncclSuccess ? first : broadcast(2, count)(comm, rank);
  };
}
TEST(Disagreement, Root) { odd_one(two_broadcasts(0, 3), two_broadcasts(2, 3)); }
TEST(Disagreement, LargeRoot) { odd_one(two_broadcasts(0, kMost), two_broadcasts(2, kMost)); }

}  // namespace
}  // namespace gyre::test
