// Which path is chosen, what is refused, and what hooks do.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>

#include "tests/transport/harness.hpp"
#include "transport/registry.hpp"
#include "transport/shm/region.hpp"

namespace gyre::test {
namespace {

const Kind kDirect{"direct", ""};
const Kind kShm{"shm", ""};
const Kind kSocket{"socket", "", 1};

TEST(Paths, SettingsTurnThemOff) {
  World p2p(kDirect, 2, [](Settings& settings, int) { settings.p2p_disable = true; });
  EXPECT_FALSE(p2p.connected());
  EXPECT_EQ(p2p[0].transport->link(1), nullptr);
  World shm(kShm, 2, [](Settings& settings, int) { settings.shm_disable = true; });
  EXPECT_FALSE(shm.connected());
  World one_sided(kShm, 2, [](Settings& settings, int rank) { settings.shm_disable = rank == 1; });
  EXPECT_FALSE(one_sided.verdicts()[0][1]);
  EXPECT_FALSE(one_sided.verdicts()[1][0]);
  World hosts(kShm, 2,
              [](Settings& settings, int rank) { settings.host_id = rank == 0 ? "a" : "b"; });
  EXPECT_FALSE(hosts.connected());
  World same_host(kShm, 2, [](Settings& settings, int) { settings.host_id = "a"; });
  EXPECT_TRUE(same_host.connected());
}

TEST(Paths, RanksThatDisagreeAboutSlotsDoNotShareMemory) {
  World world(kShm, 2, [](Settings& settings, int rank) { settings.slots = 4 + rank; });
  EXPECT_FALSE(world.verdicts()[0][1] && world.verdicts()[1][0]);
}

TEST(Paths, AnotherSecretIsRefusedAtOnce) {
  JobKey key = fresh_key();
  Node a(0, 2, key, kShm, small_settings());
  key.secret[0] ^= 1;
  Node b(1, 2, key, kShm, small_settings());
  const std::vector<Blob> blobs = {*a.transport->offer(), *b.transport->offer()};
  std::vector<bool> says_a, says_b;
  const auto since = Clock::now();
  std::thread other([&] {
    const std::vector<int> peers = {0};
    says_b = *b.transport->connect(peers, blobs, Deadline::after(kHang));
  });
  const std::vector<int> peers = {1};
  says_a = *a.transport->connect(peers, blobs, Deadline::after(kHang));
  other.join();
  EXPECT_EQ(says_a, std::vector<bool>{false});
  EXPECT_EQ(says_b, std::vector<bool>{false});
  EXPECT_LT(Clock::now() - since, std::chrono::seconds(10));
}

// Lets memfd_create fail with EPERM in the calling thread, for ever, as some sandboxes do.
bool forbid_memfd() {
  sock_filter rules[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_memfd_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{sizeof rules / sizeof rules[0], rules};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

TEST(Paths, WithoutMemfdThereIsNoSharedMemoryAndNoError) {
  const JobKey key = fresh_key();
  Node with(0, 2, key, kShm, small_settings());
  Node without(1, 2, key, kShm, small_settings());
  const Blob there = *with.transport->offer();
  bool forbidden = false;
  Blob here(1);
  void* memory = nullptr;
  std::thread sandboxed([&] {
    forbidden = forbid_memfd();
    if (!forbidden) return;
    here = *without.transport->offer();
    memory = *region_alloc(4096);
  });
  sandboxed.join();
  if (!forbidden) GTEST_SKIP() << "this machine does not let a process restrict itself";
  EXPECT_FALSE(with.transport->reaches(1, there, here));
  EXPECT_FALSE(without.transport->reaches(0, here, there));
  ASSERT_NE(memory, nullptr) << "the pool falls back to private memory";
  EXPECT_FALSE(region_find(memory, 1));
  EXPECT_TRUE(region_free(memory));
}

TEST(Paths, RegistryPrefersTheShortestPath) {
  Node node(0, 1, fresh_key(), kDirect, small_settings());
  TransportContext context;
  context.settings = &node.settings;
  context.bell = &*node.bell;
  const auto plain = make_transports(context);
  ASSERT_EQ(plain.size(), 3U);
  EXPECT_EQ(plain[0]->name(), "direct");
  EXPECT_EQ(plain[1]->name(), "shm");
  EXPECT_EQ(plain[2]->name(), "socket");
  node.settings.hook = "throttle:5";
  EXPECT_EQ(make_transports(context)[2]->name(), "socket+throttle");
  node.settings.hook = "nonsense";
  EXPECT_EQ(make_transports(context)[0]->offer().status(), Status::invalid_argument);
}

TEST(Paths, MemoryOfThePoolIsReadInPlaceByPeers) {
  constexpr std::size_t kWhole = kHugePage;  // larger than what is rounded up
  World world(kShm, 2);
  auto* memory = static_cast<std::byte*>(*region_alloc(kWhole));
  const auto data = pattern(4, kWhole);
  std::memcpy(memory, data.data(), data.size());
  SlotHeader header;
  EXPECT_FALSE(world[0].link(1).refer(memory, 100, false, header)) << "too small to be worth it";
  ASSERT_TRUE(world[0].link(1).refer(memory + 4096, 8192, false, header));
  EXPECT_EQ(header.kind, SlotKind::mapped);
  EXPECT_EQ(header.location, 4096U);
  std::vector<std::byte> payload;
  for (std::uint64_t at = 0; at + (64 << 10) <= data.size(); at += 64 << 10) {
    ASSERT_TRUE(world[0].send(1, memory + at, 64 << 10, true, false));
    ASSERT_TRUE(world[1].receive(0, payload));
    ASSERT_EQ(std::memcmp(payload.data(), data.data() + at, payload.size()), 0);
  }
  // Known by now, hence readable without a copy; nothing outside of it is.
  SlotHeader received;
  received.bytes = 8192;
  received.kind = SlotKind::mapped;
  received.location = 4096;
  received.reference.region = header.reference.region;
  const std::byte* in_place = world[1].link(0).locate(received, received.bytes);
  ASSERT_NE(in_place, nullptr);
  EXPECT_NE(in_place, memory + 4096) << "a mapping of its own";
  received.location = kWhole - 4096;
  EXPECT_EQ(world[1].link(0).locate(received, received.bytes), nullptr);
  received.location = ~0ULL - 100;
  EXPECT_EQ(world[1].link(0).locate(received, received.bytes), nullptr);
  received.location = 0;
  EXPECT_TRUE(region_free(memory));
  const Deadline deadline = Deadline::after(kHang);
  while (world[1].link(0).locate(received, received.bytes) != nullptr && !deadline.expired()) {
    std::this_thread::yield();
  }
  EXPECT_EQ(world[1].link(0).locate(received, received.bytes), nullptr)
      << "unmapped once it is freed";
}

TEST(Paths, P2pDisableTurnsReferencesOff) {
  World world(kShm, 2, [](Settings& settings, int) { settings.p2p_disable = true; });
  ASSERT_TRUE(world.connected());
  void* memory = *region_alloc(1 << 20);
  SlotHeader header;
  EXPECT_FALSE(world[0].link(1).refer(static_cast<std::byte*>(memory), 1 << 20, true, header));
  EXPECT_TRUE(region_free(memory));
}

TEST(Paths, AnUnknownRegionIsWaitedForUntilAnAbort) {
  World world(kShm, 2);
  SlotHeader header;
  header.kind = SlotKind::mapped;
  header.bytes = 4096;
  header.reference.region = 1ULL << 60;
  std::vector<std::byte> into(4096);
  EXPECT_EQ(world[1].link(0).locate(header, header.bytes), nullptr);
  world[1].abort.raise({Status::aborted, "the test aborts"});
  const auto fetched = world[1].link(0).fetch(header, header.bytes, into.data());
  ASSERT_FALSE(fetched);
  EXPECT_EQ(fetched.status(), Status::aborted);
}

TEST(Paths, ADirectPeerThatLeftIsNotReadAnyMore) {
  World world(kDirect, 2);
  const auto data = pattern(6, 8192);
  ASSERT_TRUE(world[0].send(1, data.data(), data.size(), true));
  world[0].transport->close(false);
  std::vector<std::byte> payload(8192);
  const SlotHeader* header = world[1].link(0).receive.front();
  ASSERT_NE(header, nullptr);
  EXPECT_EQ(header->kind, SlotKind::address);
  EXPECT_EQ(world[1].link(0).locate(*header, header->bytes), nullptr);
  EXPECT_EQ(world[1].link(0).fetch(*header, header->bytes, payload.data()).status(),
            Status::peer_lost);
}

void send_numbers(Node& node, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto data = pattern(i, 100);
    ASSERT_TRUE(node.send(1, data.data(), data.size()));
  }
  ASSERT_TRUE(node.drive([&] { return node.transport->flushed(); }));
}

class Hooks : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Hooks, testing::Values("direct", "shm", "socket"));

TEST_P(Hooks, FaultsHappenWhereThePlanSays) {
  World world({GetParam(), "fault:rank=0,peer=1,drop=1,corrupt=2,truncate=3,delay_ms=2"}, 2);
  ASSERT_TRUE(world.connected());
  world.each([&](int rank) {
    if (rank == 0) return send_numbers(world[0], 5);
    std::vector<std::byte> payload;
    ASSERT_TRUE(world[1].receive(0, payload));
    EXPECT_EQ(payload, pattern(0, 100));
    ASSERT_TRUE(world[1].receive(0, payload));  // 1 was dropped
    auto corrupted = pattern(2, 100);
    EXPECT_NE(payload, corrupted);
    corrupted[50] ^= std::byte{1};
    EXPECT_EQ(payload, corrupted);
    ASSERT_TRUE(world[1].receive(0, payload));
    EXPECT_EQ(payload.size(), 50U);
    ASSERT_TRUE(world[1].receive(0, payload));
    EXPECT_EQ(payload, pattern(4, 100));
  });
}

TEST_P(Hooks, AClosingHookLooksLikeALostPeer) {
  World world({GetParam(), "fault:rank=0,close=2"}, 2);
  world.each([&](int rank) {
    if (rank == 0) return send_numbers(world[0], 3);
    std::vector<std::byte> payload;
    ASSERT_TRUE(world[1].receive(0, payload));
    ASSERT_TRUE(world[1].receive(0, payload));
    EXPECT_TRUE(world[1].drive([&] { return world[1].losses.of(0).has_value(); }));
  });
}

TEST_P(Hooks, ThrottlingTakesItsTime) {
  World world({GetParam(), "throttle:1000000"}, 2);
  const auto since = Clock::now();
  world.each([&](int rank) {
    std::vector<std::byte> payload;
    const auto data = pattern(1, 50'000);
    for (int i = 0; i < 6; ++i) {
      if (rank == 0) {
        ASSERT_TRUE(world[0].send(1, data.data(), data.size()));
      } else {
        ASSERT_TRUE(world[1].receive(0, payload));
      }
    }
    ASSERT_TRUE(world[rank].drive([&] { return world[rank].transport->flushed(); }));
  });
  // 300 kB at 1 MB/s, less the bucket's 100 kB.
  EXPECT_GE(Clock::now() - since, milliseconds(195));
}

TEST_P(Hooks, TracesOneLineASlot) {
  const auto file = std::filesystem::temp_directory_path() /
                    ("gyre-trace-" + std::string(GetParam()) + "-" + std::to_string(::getpid()));
  {
    World world({GetParam(), "trace:" + file.string()}, 2);
    world.each([&](int rank) {
      if (rank == 0) return send_numbers(world[0], 5);
      std::vector<std::byte> payload;
      for (int i = 0; i < 5; ++i) ASSERT_TRUE(world[1].receive(0, payload));
    });
  }
  std::ifstream lines(file);
  int sends = 0;
  int receives = 0;
  for (std::string line; std::getline(lines, line);) {
    EXPECT_EQ(line.front(), '{');
    EXPECT_EQ(line.back(), '}');
    sends += line.find("\"do\":\"send\"") != std::string::npos ? 1 : 0;
    receives += line.find("\"do\":\"receive\"") != std::string::npos ? 1 : 0;
  }
  std::filesystem::remove(file);
  EXPECT_EQ(sends, 5);
  EXPECT_EQ(receives, 5);
}

}  // namespace
}  // namespace gyre::test
