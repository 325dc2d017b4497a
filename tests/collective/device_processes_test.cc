// Ranks on devices in processes of their own: one that dies ends the kernels of the others, and
// kinds of ranks do not mix.
#include <chrono>

#include "tests/collective/device_array.hpp"
#include "tests/collective/forked.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 3;
constexpr int kKilled = 1000 + SIGKILL;
constexpr std::size_t kCount = 300'000;

// The parent may not look at devices: a process that did cannot fork ranks.
bool asks_for_device() {
  const char* device = std::getenv("GYRE_DEVICE");
  return device != nullptr && std::string_view(device) != "host";
}

struct Meeting {
  Shared<ncclUniqueId> id{1};
  Shared<Note> notes{kWorld};
  Channel id_made;

  // Null: the note says why.
  ncclComm_t enter(int rank, int world) const {
    if (rank == 0) {
      if (ncclGetUniqueId(id.data()) != ncclSuccess) return nullptr;
      for (int other = 1; other < world; ++other) id_made.put(other);
    } else if (int own = 0; !id_made.get(own)) {
      return nullptr;
    }
    ncclComm_t comm = nullptr;
    Note& note = notes[static_cast<std::size_t>(rank)];
    note.result = ncclCommInitRank(&comm, world, id[0], rank);
    std::snprintf(note.text, sizeof note.text, "%s", ncclGetLastError(nullptr));
    return note.result == ncclSuccess ? comm : nullptr;
  }
  std::string text(int rank) const { return notes[static_cast<std::size_t>(rank)].text; }
};

// Three calls work; then the last rank is killed, and the others find out in the next one.
int live_with_a_death(const Meeting& meeting, int rank, std::size_t count) {
  ncclComm_t comm = meeting.enter(rank, kWorld);
  if (comm == nullptr) return complain("init");
  const cudaStream_t stream = rank_stream();
  DeviceArray<float> data(count, 1.0F);
  for (int call = 0; call < 3; ++call) {
    if (ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, comm, stream) !=
        ncclSuccess) {
      return complain("all-reduce");
    }
  }
  if (*wait_for(stream) != '\0' || data.read() != std::vector<float>(count, 27.0F)) {
    return complain("wrong sums");
  }
  if (rank == kWorld - 1) ::raise(SIGKILL);
  ncclResult_t state =
      ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, comm, stream);
  using namespace std::chrono_literals;
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (state == ncclSuccess && std::chrono::steady_clock::now() < until) {
    if (ncclCommGetAsyncError(comm, &state) != ncclSuccess) return complain("state");
    ::usleep(1000);  // between two looks
  }
  Note& note = meeting.notes[static_cast<std::size_t>(rank)];
  note.result = state;
  std::snprintf(note.text, sizeof note.text, "%s", ncclGetLastError(comm));
  if (ncclCommAbort(comm) != ncclSuccess) return complain("abort");
  return *wait_for(stream) == '\0' ? 0 : complain("the stream");
}

class Death : public testing::TestWithParam<std::size_t> {};

TEST_P(Death, IsToldToTheOthers) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  const Meeting meeting;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.push_back(in_child([&, rank] { return live_with_a_death(meeting, rank, GetParam()); }));
  }
  for (int rank = 0; rank < kWorld - 1; ++rank) {
    EXPECT_EQ(status_of(ranks[static_cast<std::size_t>(rank)]), 0);
    EXPECT_EQ(meeting.notes[static_cast<std::size_t>(rank)].result, ncclRemoteError);
    EXPECT_NE(meeting.text(rank).find("rank 2"), std::string::npos) << meeting.text(rank);
  }
  EXPECT_EQ(status_of(ranks[kWorld - 1]), kKilled);
}
INSTANTIATE_TEST_SUITE_P(Counts, Death, testing::Values(std::size_t{100}, kCount),
                         [](const auto& one) { return std::to_string(one.param); });

TEST(Kinds, OfRanksDoNotMix) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  const Meeting meeting;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < 2; ++rank) {
    ranks.push_back(in_child([&, rank] {
      if (rank == 1) apply({{"GYRE_DEVICE", "host"}});
      return meeting.enter(rank, 2) == nullptr ? 0 : 1;
    }));
  }
  for (int rank = 0; rank < 2; ++rank) {
    EXPECT_EQ(status_of(ranks[static_cast<std::size_t>(rank)]), 0);
    EXPECT_NE(meeting.text(rank).find("GYRE_DEVICE"), std::string::npos) << meeting.text(rank);
  }
}

}  // namespace
}  // namespace gyre::test
