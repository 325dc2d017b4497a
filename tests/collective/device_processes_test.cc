// Ranks on devices in processes of their own, and ranks on the host among them: one that dies ends
// the calls of the others, and users' buffers are mapped while they are there.
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iterator>

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

// How many elements the calls have, and whether the last rank is one on the host.
class Death : public testing::TestWithParam<std::tuple<std::size_t, bool>> {};

TEST_P(Death, IsToldToTheOthers) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  const auto [count, mixed] = GetParam();
  const Meeting meeting;
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.push_back(in_child([&, rank, count = count, on_host = mixed && rank == kWorld - 1] {
      if (on_host) apply({{"GYRE_DEVICE", "host"}});
      return live_with_a_death(meeting, rank, count);
    }));
  }
  for (int rank = 0; rank < kWorld - 1; ++rank) {
    EXPECT_EQ(status_of(ranks[static_cast<std::size_t>(rank)]), 0);
    EXPECT_EQ(meeting.notes[static_cast<std::size_t>(rank)].result, ncclRemoteError);
    EXPECT_NE(meeting.text(rank).find("rank 2"), std::string::npos) << meeting.text(rank);
  }
  EXPECT_EQ(status_of(ranks[kWorld - 1]), kKilled);
}
INSTANTIATE_TEST_SUITE_P(
    Counts, Death, testing::Combine(testing::Values(std::size_t{100}, kCount), testing::Bool()),
    [](const auto& one) {
      return std::to_string(std::get<0>(one.param)) + (std::get<1>(one.param) ? "_mixed" : "");
    });

// Work before and after a call on the same stream, calls that take what the one before left,
// and a group of messages in a ring: with rank 1 on the host.
int work_among_kinds(const Meeting& meeting, int rank, std::size_t count) {
  ncclComm_t comm = meeting.enter(rank, kWorld);
  if (comm == nullptr) return complain("init");
  const cudaStream_t stream = rank_stream();
  DeviceArray<float> data(count, 1.0F), around(count, 0.0F);
  const int next = (rank + 1) % kWorld;
  const int previous = (rank + kWorld - 1) % kWorld;
  for (int call = 0; call < 4; ++call) {
    if (ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, comm, stream) !=
        ncclSuccess) {
      return complain("all-reduce");
    }
  }
  (void)ncclGroupStart();
  (void)ncclSend(data.data(), count, ncclFloat32, next, comm, stream);
  (void)ncclRecv(around.data(), count, ncclFloat32, previous, comm, stream);
  if (ncclGroupEnd() != ncclSuccess) return complain("messages");
  if (ncclBroadcast(around.data(), data.data(), count, ncclFloat32, 1, comm, stream) !=
      ncclSuccess) {
    return complain("broadcast");
  }
  if (*wait_for(stream) != '\0') return complain("the stream");
  const std::vector<float> wanted(count, 81.0F);
  if (data.read() != wanted || around.read() != wanted) return complain("wrong values");
  return ncclCommDestroy(comm) == ncclSuccess ? 0 : complain("destroy");
}

TEST(Kinds, OfRanksMix) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  for (const std::size_t count : {std::size_t{1}, std::size_t{1000}, kCount}) {
    const Meeting meeting;
    std::vector<pid_t> ranks;
    for (int rank = 0; rank < kWorld; ++rank) {
      ranks.push_back(in_child([&, rank] {
        if (rank == 1) apply({{"GYRE_DEVICE", "host"}});
        return work_among_kinds(meeting, rank, count);
      }));
    }
    for (const pid_t rank : ranks) EXPECT_EQ(status_of(rank), 0) << count;
  }
}

// The end of a program takes the device away while this library's threads are there.
TEST(Programs, EndRightAfterTheyDestroy) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  for (const bool destroys : {true, false}) {
    const pid_t program = in_child([&] {
      ncclUniqueId id;
      ncclComm_t comm = nullptr;
      if (ncclGetUniqueId(&id) != ncclSuccess) return complain("the id");
      if (ncclCommInitRank(&comm, 1, id, 0) != ncclSuccess) return complain("init");
      if (destroys && ncclCommDestroy(comm) != ncclSuccess) return complain("destroy");
      std::exit(0);  // unlike other children: what was registered for that is run
    });
    EXPECT_EQ(status_of(program), 0) << (destroys ? "destroyed" : "not destroyed");
  }
}

std::string contents(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// How often a child's log says that.
std::size_t lines_with(const std::string& path, std::string_view text) {
  const std::string log = contents(path);
  std::size_t found = 0;
  for (std::size_t at = log.find(text); at != std::string::npos; at = log.find(text, at + 1)) {
    ++found;
  }
  return found;
}

// A buffer that its user frees, unlike those of rank_memory.
struct FreedBuffer {
  explicit FreedBuffer(std::size_t bytes) {
    if (gyreDeviceAlloc(rank_device(), bytes, &memory) != gyreSuccess) std::abort();
  }
  ~FreedBuffer() { (void)gyreDeviceFree(rank_device(), memory); }
  FreedBuffer(const FreedBuffer&) = delete;
  FreedBuffer& operator=(const FreedBuffer&) = delete;
  void* memory = nullptr;
};

constexpr int kBuffers = 3;
constexpr int kMostCalls = 3000;

// Whether every rank says so.
bool all_say(ncclComm_t comm, cudaStream_t stream, bool yes) {
  DeviceArray<float> vote(1, yes ? 1.0F : 0.0F);
  (void)ncclAllReduce(vote.data(), vote.data(), 1, ncclFloat32, ncclMin, comm, stream);
  (void)wait_for(stream);
  return vote.read().front() != 0;
}

// Calls on one buffer after the other, each with the right sums, until all have mapped it and then
// once more.
int use_and_free(ncclComm_t comm, int rank, const std::string& log) {
  const cudaStream_t stream = rank_stream();
  for (int buffer = 0; buffer < kBuffers; ++buffer) {
    const std::size_t count = kCount + static_cast<std::size_t>(buffer) * 1001;
    const FreedBuffer data(count * sizeof(float));
    const std::size_t wanted = (static_cast<std::size_t>(buffer) + 1) * (kWorld - 1);
    bool mapped = false;
    for (int call = 0; call < kMostCalls; ++call) {
      std::vector<float> values(count, static_cast<float>(rank + call));
      auto* const at = static_cast<std::byte*>(data.memory);
      push(at, reinterpret_cast<const std::byte*>(values.data()), count * sizeof(float));
      if (ncclAllReduce(at, at, count, ncclFloat32, ncclSum, comm, stream) != ncclSuccess) {
        return complain("all-reduce");
      }
      if (*wait_for(stream) != '\0') return complain("the stream");
      pull(reinterpret_cast<std::byte*>(values.data()), at, count * sizeof(float));
      const auto sum = static_cast<float>(kWorld * call + kWorld * (kWorld - 1) / 2);
      if (values != std::vector<float>(count, sum)) return complain("wrong sums");
      if (mapped) break;
      mapped = all_say(comm, stream, lines_with(log, ": mapped ") >= wanted);
    }
    if (!mapped) return complain("a buffer was not mapped");
  }
  return 0;
}

TEST(Buffers, AreMappedWhileTheyAreThere) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  const Meeting meeting;
  const std::string folder = testing::TempDir() + "mapped." + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  const auto log = [&](int rank) { return folder + "/" + std::to_string(rank); };
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.push_back(in_child([&, rank] {
      apply({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "P2P"}, {"NCCL_DEBUG_FILE", log(rank)}});
      ncclComm_t comm = meeting.enter(rank, kWorld);
      if (comm == nullptr) return complain("init");
      const int result = use_and_free(comm, rank, log(rank));
      // The last one is freed too: until the others have seen it.
      using namespace std::chrono_literals;
      const auto until = std::chrono::steady_clock::now() + 5s;
      while (lines_with(log(rank), "gave back") < std::size_t{kBuffers} * (kWorld - 1) &&
             std::chrono::steady_clock::now() < until) {
        ::usleep(10'000);
      }
      return ncclCommDestroy(comm) == ncclSuccess ? result : complain("destroy");
    }));
  }
  for (int rank = 0; rank < kWorld; ++rank) {
    EXPECT_EQ(status_of(ranks[static_cast<std::size_t>(rank)]), 0);
    for (const std::string_view line : {": mapped ", "gave back"}) {
      EXPECT_EQ(lines_with(log(rank), line), std::size_t{kBuffers} * (kWorld - 1))
          << line << " in\n"
          << contents(log(rank));
    }
  }
  std::filesystem::remove_all(folder);
}

// The owner has left, the others go on.
TEST(Buffers, AreGivenBackWhenTheirOwnerHasLeft) {
  if (!asks_for_device()) GTEST_SKIP() << "GYRE_DEVICE names no device";
  const Meeting meeting;
  const std::string log = testing::TempDir() + "left." + std::to_string(::getpid());
  std::vector<pid_t> ranks;
  for (int rank = 0; rank < kWorld; ++rank) {
    ranks.push_back(in_child([&, rank] {
      if (rank == 1) {
        apply({{"NCCL_DEBUG", "INFO"}, {"NCCL_DEBUG_SUBSYS", "P2P"}, {"NCCL_DEBUG_FILE", log}});
      }
      ncclComm_t comm = meeting.enter(rank, kWorld);
      if (comm == nullptr) return complain("init");
      const cudaStream_t stream = rank_stream();
      DeviceArray<float> data(kCount, 1.0F);
      bool mapped = false;
      for (int call = 0; call < kMostCalls && !mapped; ++call) {
        (void)ncclAllReduce(data.data(), data.data(), kCount, ncclFloat32, ncclMax, comm, stream);
        if (*wait_for(stream) != '\0') return complain("the stream");
        mapped = all_say(comm, stream, rank != 1 || lines_with(log, ": mapped ") >= kWorld - 1);
      }
      using namespace std::chrono_literals;
      const auto until = std::chrono::steady_clock::now() + 5s;
      while (rank == 1 && lines_with(log, "gave back") < std::size_t{kWorld - 1} &&
             std::chrono::steady_clock::now() < until) {
        ::usleep(10'000);
      }
      return ncclCommDestroy(comm) == ncclSuccess ? 0 : complain("destroy");
    }));
  }
  for (const pid_t rank : ranks) EXPECT_EQ(status_of(rank), 0);
  EXPECT_EQ(lines_with(log, ": mapped "), std::size_t{kWorld - 1});
  EXPECT_EQ(lines_with(log, "gave back"), std::size_t{kWorld - 1});
  std::filesystem::remove(log);
}

}  // namespace
}  // namespace gyre::test
