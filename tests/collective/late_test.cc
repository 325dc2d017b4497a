// A root is done with a broadcast when its data lies where the others will look for it: they get it
// however late they come, and whatever has become of the root.
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <numeric>
#include <tuple>

#include "tests/collective/forked.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 4;
constexpr int kRoot = 0;
constexpr int kCalls = 4;  // as many as there are slots
constexpr int kKilled = 1000 + SIGKILL;

std::vector<int> wanted(std::size_t count, int call) {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1000 * call);
  return values;
}

// Mappings of memory that processes share.
int shared_mappings() {
  std::ifstream maps("/proc/self/maps");
  int found = 0;
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:gyre") != std::string::npos) ++found;
  }
  return found;
}

enum class End { destroys, exits, dies };

struct Meeting {
  Shared<ncclUniqueId> id{1};
  Channel id_made, root_done;

  // All ranks are in the communicator.
  ncclComm_t enter(int rank) const {
    if (rank == kRoot) {
      if (ncclGetUniqueId(id.data()) != ncclSuccess) return nullptr;
      for (int other = 1; other < kWorld; ++other) id_made.put(other);
    } else if (int own = 0; !id_made.get(own)) {
      return nullptr;
    }
    ncclComm_t comm = nullptr;
    return ncclCommInitRank(&comm, kWorld, id[0], rank) == ncclSuccess ? comm : nullptr;
  }
};

int be_root(const Meeting& meeting, std::size_t count, End end) {
  ncclComm_t comm = meeting.enter(kRoot);
  if (comm == nullptr) return complain("root: init");
  for (int call = 0; call < kCalls; ++call) {
    std::vector<int> data = wanted(count, call);
    if (ncclBroadcast(data.data(), data.data(), count, ncclInt32, kRoot, comm, nullptr) !=
        ncclSuccess) {
      return complain("root: broadcast");
    }
    std::fill(data.begin(), data.end(), -1);
  }
  if (end == End::dies) ::raise(SIGKILL);
  if (end == End::exits) return 0;
  if (ncclCommDestroy(comm) != ncclSuccess) return complain("root: destroy");
  if (shared_mappings() == 0) return 0;
  std::fprintf(stderr, "root: %d mappings stayed\n", shared_mappings());
  return 1;
}

int be_late(const Meeting& meeting, int rank, std::size_t count) {
  ncclComm_t comm = meeting.enter(rank);
  if (comm == nullptr) return complain("init");
  if (int word = 0; !meeting.root_done.get(word)) return complain("no word of the root");
  for (int call = 0; call < kCalls; ++call) {
    std::vector<int> data(count);
    if (ncclBroadcast(data.data(), data.data(), count, ncclInt32, kRoot, comm, nullptr) !=
        ncclSuccess) {
      return complain("broadcast");
    }
    if (data != wanted(count, call)) {
      std::fprintf(stderr, "rank %d: wrong data of call %d\n", rank, call);
      return 1;
    }
  }
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : complain("destroy");
}

struct Case {
  const char* name;
  End end;
};

class Late : public testing::TestWithParam<std::tuple<Case, std::size_t>> {};

TEST_P(Late, ReceiversOfABroadcastGetItFromARootThatIsGone) {
  const auto& [how, count] = GetParam();
  const Meeting meeting;
  const pid_t root = in_child([&, end = how.end, n = count] { return be_root(meeting, n, end); });
  std::vector<pid_t> others;
  for (int rank = 1; rank < kWorld; ++rank) {
    others.push_back(in_child([&, rank, n = count] { return be_late(meeting, rank, n); }));
  }
  EXPECT_EQ(status_of(root), how.end == End::dies ? kKilled : 0);
  for (int rank = 1; rank < kWorld; ++rank) meeting.root_done.put(rank);
  for (const pid_t other : others) EXPECT_EQ(status_of(other), 0);
}

// Of integers: inside a header, in each lane's slots, in one slot for all.
INSTANTIATE_TEST_SUITE_P(Ends, Late,
                         testing::Combine(testing::Values(Case{"destroys", End::destroys},
                                                          Case{"exits", End::exits},
                                                          Case{"dies", End::dies}),
                                          testing::Values(3, 1000, 1025, 30'000)),
                         [](const auto& one) {
                           return fmt::format("{}_{}", std::get<0>(one.param).name,
                                              std::get<1>(one.param));
                         });

}  // namespace
}  // namespace gyre::test
