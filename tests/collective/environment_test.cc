// Settings as users get them wrong, and machines as users find them: bad values, values that differ
// by rank, /dev/shm that is small, full, read-only or missing, and interfaces that lead nowhere.
#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <fstream>
#include <sstream>

#include "tests/collective/forked.hpp"
#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

// One rank of a world of processes.
struct RankSetup {
  Environment environment;
  std::function<bool()> enter = [] { return true; };  // namespaces and mounts; false: skip
};

// All-reduces on one rank; exit status.
int use(ncclComm_t comm, int rank, int world) {
  for (const std::size_t count : {1U, 1000U, 300'000U}) {
    std::vector<float> data(count, static_cast<float>(rank));
    if (ncclAllReduce(data.data(), data.data(), count, ncclFloat32, ncclSum, comm, nullptr) !=
        ncclSuccess) {
      return complain("all-reduce");
    }
    const auto wanted = static_cast<float>(world * (world - 1) / 2);
    if (data != std::vector<float>(count, wanted)) {
      std::fprintf(stderr, "rank %d: wrong sum of %zu\n", rank, count);
      return 1;
    }
  }
  return 0;
}

class World {
 public:
  explicit World(std::vector<RankSetup> ranks) : ranks_(std::move(ranks)), notes_(ranks_.size()) {}

  // Runs all ranks; their exit statuses. What init said is in note().
  std::vector<int> run() {
    std::vector<pid_t> children;
    const int world = static_cast<int>(ranks_.size());
    for (int rank = 0; rank < world; ++rank) {
      children.push_back(in_child([&, rank] { return run_rank(rank, world); }));
    }
    std::vector<int> statuses;
    for (const pid_t child : children) statuses.push_back(status_of(child));
    return statuses;
  }
  const Note& note(std::size_t rank) const { return notes_[rank]; }

 private:
  int run_rank(int rank, int world) const {
    const RankSetup& setup = ranks_[static_cast<std::size_t>(rank)];
    apply(setup.environment);
    const bool entered = setup.enter();
    if (rank == 0) {
      ncclUniqueId id{};
      // Ids need good settings; the others must not wait for one that never comes.
      const ncclResult_t made = entered ? ncclGetUniqueId(&id) : ncclInternalError;
      for (int i = 1; i < world; ++i) id_.put(std::pair(made, id));
      if (!entered) return kSkipped;
      return made == ncclSuccess ? with(id, rank, world) : note_down(rank, made);
    }
    std::pair<ncclResult_t, ncclUniqueId> got{};
    if (!id_.get(got)) return 1;
    if (!entered || got.first == ncclInternalError) return kSkipped;
    return got.first == ncclSuccess ? with(got.second, rank, world) : 1;
  }
  int with(const ncclUniqueId& id, int rank, int world) const {
    ncclComm_t comm = nullptr;
    const ncclResult_t opened = ncclCommInitRank(&comm, world, id, rank);
    if (opened != ncclSuccess) return note_down(rank, opened);
    const int failed = use(comm, rank, world);
    if (failed == 0 && ncclCommDestroy(comm) != ncclSuccess) return complain("destroy");
    return failed;
  }
  int note_down(int rank, ncclResult_t result) const {
    Note& note = notes_[static_cast<std::size_t>(rank)];
    note.result = result;
    std::strncpy(note.text, ncclGetLastError(nullptr), sizeof note.text - 1);
    return 2;
  }

  std::vector<RankSetup> ranks_;
  Shared<Note> notes_;
  Channel id_;
};

bool contains(const char* text, const char* part) { return std::strstr(text, part) != nullptr; }

const Environment kQuick = {{"GYRE_INIT_TIMEOUT", "20"}};

void expect_works(const Environment& environment) {
  World world({{environment}, {environment}});
  EXPECT_EQ(world.run(), (std::vector<int>{0, 0}))
      << environment.front().first << "=" << environment.front().second << ": "
      << world.note(0).text;
}

void expect_refused(const char* name, const char* value, const char* allowed) {
  World world(std::vector<RankSetup>{{Environment{{name, value}}}});
  EXPECT_EQ(world.run(), std::vector<int>{2}) << name << "=" << value;
  EXPECT_EQ(world.note(0).result, ncclInvalidArgument);
  EXPECT_TRUE(contains(world.note(0).text, name)) << world.note(0).text;
  EXPECT_TRUE(contains(world.note(0).text, allowed)) << world.note(0).text;
}

TEST(Settings, BadValuesAreRefusedByName) {
  for (const char* bad : {"abc", "-1", "1e6", "5000", "65M"}) {
    expect_refused("GYRE_SLOT_BYTES", bad, "4K to 64M");
  }
  for (const char* bad : {"4MB", "abc", "-1", "1e6"}) {
    expect_refused("GYRE_SLOTS", bad, "4 to 64");
  }
  expect_refused("NCCL_SHM_DISABLE", "yes", "0 or 1");
  expect_refused("GYRE_SLOT_BYTS", "4K", "GYRE_SLOT_BYTES");
  expect_refused("GYRE_NONSENSE_OF_ANY_KIND", "1", "not a setting");
}

TEST(Settings, EveryAcceptedValueWorks) {
  expect_works({{"GYRE_SLOT_BYTES", "4MB"}});
  expect_works({{"GYRE_SLOT_BYTES", "4K"}});
  expect_works({{"GYRE_SLOTS", "64"}});
  expect_works({{"GYRE_SLOTS", ""}});  // unset
  expect_works({{"GYRE_ONE_SHOT_BYTES", "64M"}});
  expect_works({{"GYRE_SPIN", "0"}});
  expect_works({{"GYRE_SOCKET_STREAMS", "3"}, {"NCCL_SHM_DISABLE", "1"}});
  expect_works({{"NCCL_ALGO", "Ring"}});
  expect_works({{"GYRE_CHECK", "1"}});
}

TEST(Settings, ValuesThatDifferAreShownOnEveryRank) {
  World world({{{{"GYRE_SLOT_BYTES", "64K"}}}, {{{"GYRE_SLOT_BYTES", "256K"}}}});
  EXPECT_EQ(world.run(), (std::vector<int>{2, 2}));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const Note& note = world.note(rank);
    EXPECT_EQ(note.result, ncclInvalidUsage);
    for (const char* part : {"GYRE_SLOT_BYTES=64K", "GYRE_SLOT_BYTES=256K", "rank 0", "rank 1"}) {
      EXPECT_TRUE(contains(note.text, part)) << "rank " << rank << ": " << note.text;
    }
  }
}

// A rank that cannot read its settings tells the others before it leaves.
TEST(Settings, OneRanksBadValueReachesTheOthers) {
  Environment bad = kQuick;
  bad.emplace_back("GYRE_SLOTS", "many");
  World world({{kQuick}, {bad}});
  EXPECT_EQ(world.run(), (std::vector<int>{2, 2}));
  EXPECT_EQ(world.note(1).result, ncclInvalidArgument);
  EXPECT_TRUE(contains(world.note(0).text, "GYRE_SLOTS")) << world.note(0).text;
  EXPECT_TRUE(contains(world.note(0).text, "rank 1")) << world.note(0).text;
}

TEST(Settings, UnknownAlgorithmIsNamed) {
  World world(std::vector<RankSetup>{{Environment{{"NCCL_ALGO", "Ring,Square"}}}});
  EXPECT_EQ(world.run(), std::vector<int>{2});
  EXPECT_EQ(world.note(0).result, ncclInvalidUsage);
  EXPECT_TRUE(contains(world.note(0).text, "\"Square\"")) << world.note(0).text;
}

// Whoever asks for a kind of rank that the machine has no device for is told, and so are the
// others.
TEST(Settings, AKindOfRankThatIsNotThereIsRefused) {
  for (const char* kind : {"cuda", "hip"}) {
    Environment asking = kQuick;
    asking.emplace_back("GYRE_DEVICE", kind);
    World world({{kQuick}, {asking}});
    EXPECT_EQ(world.run(), (std::vector<int>{2, 2})) << kind;
    EXPECT_EQ(world.note(1).result, ncclInvalidUsage);
    const std::string setting = std::string("GYRE_DEVICE=") + kind;
    for (std::size_t rank = 0; rank < 2; ++rank) {
      EXPECT_TRUE(contains(world.note(rank).text, setting.c_str())) << world.note(rank).text;
    }
    EXPECT_TRUE(contains(world.note(0).text, "rank 1")) << world.note(0).text;
  }
  expect_works({{"GYRE_DEVICE", "host"}});
}

// What a process with two ranks writes at this level.
std::string output_at(const char* level) {
  int ends[2] = {-1, -1};
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = in_child([&] {
    ::dup2(ends[1], STDOUT_FILENO);
    apply({{"NCCL_DEBUG", level}, {"GYRE_NCCL_VERSION", "23007"}});
    ncclComm_t comms[2] = {};
    if (ncclCommInitAll(comms, 2, nullptr) != ncclSuccess) return complain("init");
    for (ncclComm_t comm : comms) ncclCommDestroy(comm);
    return 0;
  });
  ::close(ends[1]);
  EXPECT_EQ(status_of(child), 0);
  std::string text(256, '\0');
  text.resize(static_cast<std::size_t>(std::max<ssize_t>(::read(ends[0], text.data(), 256), 0)));
  ::close(ends[0]);
  return text;
}

TEST(Debug, Rank0SaysTheVersionOnce) {
  for (const char* level : {"VERSION", "WARN"}) {
    EXPECT_EQ(output_at(level), "NCCL version 2.30.7+gyre\n") << level;
  }
  EXPECT_EQ(output_at("none"), "");
}

// ---- /dev/shm ----

bool own_mounts() {
  const int flags = CLONE_NEWNS | (::geteuid() != 0 ? CLONE_NEWUSER : 0);
  return ::unshare(flags) == 0 && ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
}

bool mount_shm(const char* options, unsigned long flags = 0) {
  return own_mounts() && ::mount("tmpfs", "/dev/shm", "tmpfs", flags, options) == 0;
}

bool full_shm() {
  if (!mount_shm("size=1m")) return false;
  const int fd = ::open("/dev/shm/filler", O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
  const std::vector<char> block(64 << 10, 'x');
  while (::write(fd, block.data(), block.size()) > 0) {
  }
  ::close(fd);
  return true;
}

bool missing_shm() {
  // An empty read-only directory over /dev hides it with everything else.
  return own_mounts() && ::mount("tmpfs", "/dev", "tmpfs", MS_RDONLY, "size=4k") == 0;
}

void expect_world_works(const std::vector<std::function<bool()>>& entries) {
  std::vector<RankSetup> ranks;
  for (const auto& entry : entries) ranks.push_back({kQuick, entry});
  World world(std::move(ranks));
  const std::vector<int> statuses = world.run();
  for (const int status : statuses) {
    if (status == kSkipped) GTEST_SKIP() << "needs the right to make mount namespaces";
  }
  for (std::size_t rank = 0; rank < statuses.size(); ++rank) {
    EXPECT_EQ(statuses[rank], 0) << "rank " << rank << ": " << world.note(rank).text;
  }
}

const std::function<bool()> kPlain = [] { return true; };
const std::function<bool()> kTiny = [] { return mount_shm("size=1m"); };
const std::function<bool()> kReadOnly = [] { return mount_shm("size=1m", MS_RDONLY); };

TEST(DevShm, Tiny) { expect_world_works({kTiny, kTiny}); }
TEST(DevShm, Full) { expect_world_works({full_shm, full_shm}); }
TEST(DevShm, ReadOnly) { expect_world_works({kReadOnly, kReadOnly}); }
TEST(DevShm, Missing) { expect_world_works({missing_shm, missing_shm}); }
TEST(DevShm, OnOneRankOnly) {
  expect_world_works({kPlain, full_shm, missing_shm});
  expect_world_works({missing_shm, kPlain});
}

// ---- interfaces ----

bool shell(const std::string& command) {
  return std::system(("exec 2>/dev/null; " + command).c_str()) == 0;
}

constexpr int kFirstPort = 29'400, kLastPort = 29'403;

struct Link {
  const char* here;
  const char* there;
  const char* options;
};

// The listening ports of this network namespace that the range does not hold; nobody but the rank
// lives in it. " none" if it does not listen at all.
std::string ports_outside_range() {
  constexpr const char* kListening = "0A";
  std::string outside;
  bool any = false;
  for (const char* table : {"/proc/self/net/tcp", "/proc/self/net/tcp6"}) {
    std::ifstream lines(table);
    std::string line;
    std::getline(lines, line);  // titles
    while (std::getline(lines, line)) {
      std::string number, local, remote, state;
      std::istringstream(line) >> number >> local >> remote >> state;
      if (state != kListening) continue;
      any = true;
      const int port = std::stoi(local.substr(local.find(':') + 1), nullptr, 16);
      if (port < kFirstPort || port > kLastPort) outside += fmt::format(" {}", port);
    }
  }
  return any ? outside : " none";
}

// Both sides have lo, a bridge without peers, a veth that is down, and one good link; they find it
// unasked, on ports of the range given. Namespaces are made here, the ranks enter them.
int across_namespaces(const Link& link) {
  if (::unshare(CLONE_NEWNET | (::geteuid() != 0 ? CLONE_NEWUSER : 0)) != 0) return kSkipped;
  const Channel entered, linked, up, ids;
  const auto traps = [] {
    return shell(
        "ip link set lo up && ip link add trap0 type bridge && "
        "ip addr add 198.51.100.1/24 dev trap0 && ip link set trap0 up && "
        "ip link add trap1 type veth peer name trap2 && ip addr add 198.51.101.1/24 dev trap1");
  };
  const auto rank_body = [&](int rank, const ncclUniqueId& id) {
    ncclComm_t comm = nullptr;
    if (ncclCommInitRank(&comm, 2, id, rank) != ncclSuccess) return complain("init");
    const std::string listening = ports_outside_range();
    const int failed = use(comm, rank, 2);
    if (ncclCommDestroy(comm) != ncclSuccess) return complain("destroy");
    if (!listening.empty()) {
      std::fprintf(stderr, "rank %d listens at%s\n", rank, listening.c_str());
      return 1;
    }
    return failed;
  };
  const Environment environment = {
      {"GYRE_INIT_TIMEOUT", "10"},
      {"GYRE_PORT_RANGE", fmt::format("{}-{}", kFirstPort, kLastPort)}};
  const pid_t other = in_child([&] {
    if (::unshare(CLONE_NEWNET) != 0) return kSkipped;
    entered.put(1);
    int ready = 0;
    if (!linked.get(ready) || ready == 0 || !traps() ||
        !shell(fmt::format("ip addr add {} dev good1 {} && ip link set good1 up", link.there,
                           link.options))) {
      return kSkipped;
    }
    up.put(1);
    apply(environment);
    ncclUniqueId id{};
    return ids.get(id) ? rank_body(1, id) : 1;
  });
  int go = 0;
  const bool linked_here =
      entered.get(go) && traps() &&
      shell(fmt::format("ip link add good0 type veth peer name good1 netns {} && "
                        "ip addr add {} dev good0 {} && ip link set good0 up",
                        other, link.here, link.options));
  linked.put(linked_here ? 1 : 0);
  int result = kSkipped;
  if (linked_here && up.get(go)) {
    // The kernel tells of a new carrier a moment later.
    for (int i = 0; i < 1000 && !shell("ip link show good0 | grep -q LOWER_UP"); ++i) {
    }
    apply(environment);
    ncclUniqueId id{};
    result = ncclGetUniqueId(&id) == ncclSuccess ? 0 : complain("unique id");
    ids.put(id);
    if (result == 0) result = rank_body(0, id);
  }
  const int theirs = status_of(other);
  return result != 0 ? result : theirs;
}

void expect_found(const Link& link) {
  const int status = status_of(in_child([&] { return across_namespaces(link); }));
  if (status == kSkipped) {
    GTEST_SKIP() << "needs the right to make network namespaces and veth links, and ip(8)";
  }
  EXPECT_EQ(status, 0);
}

TEST(Interfaces, TheGoodOneIsFound) { expect_found({"203.0.113.1/24", "203.0.113.2/24", ""}); }
TEST(Interfaces, TheGoodOneIsFoundByIpv6Alone) {
  expect_found({"2001:db8:8::1/64", "2001:db8:8::2/64", "nodad"});
}

}  // namespace
}  // namespace gyre::test
