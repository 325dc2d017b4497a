// The pieces of transports alone, and bytes that no rank of ours sends.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <atomic>
#include <cstring>
#include <thread>

#include "tests/transport/harness.hpp"
#include "transport/hook/plan.hpp"
#include "transport/inbox.hpp"
#include "transport/shm/message.hpp"
#include "transport/shm/region.hpp"
#include "transport/socket/stream.hpp"

namespace gyre::test {
namespace {

std::array<Fd, 2> socket_pair(int type) {
  int pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  return {Fd(pair[0]), Fd(pair[1])};
}

struct Lane {
  explicit Lane(std::uint32_t slots, std::uint64_t slot_bytes = 256)
      : layout{1, slots, slot_bytes},
        memory(*Mapping::anonymous(layout.total_bytes())),
        view(layout.view(memory.data(), 0)) {}
  InboxLayout layout;
  Mapping memory;
  LaneView view;

  void post(std::uint64_t position, const std::vector<std::byte>& payload) {
    SlotHeader& header = view.header(position);
    header.bytes = payload.size();
    header.kind = SlotKind::staged;
    std::memcpy(view.slot(position), payload.data(), payload.size());
    header.sequence.store(position + 1);
  }
};

TEST(Stream, PositionsBeyond32BitsWrapTheRingOnly) {
  constexpr std::uint64_t kStart = (1ULL << 32) - 3;
  auto [left, right] = socket_pair(SOCK_STREAM);
  socket::Stream out(std::move(left), kStart, 1);
  socket::Stream in(std::move(right), kStart, 1);
  Lane from(3), to(3);
  from.view.credit->head = kStart;
  to.view.credit->head = kStart;
  for (std::uint64_t p = kStart; p < kStart + 10; ++p) {
    const auto data = pattern(p, 100);
    from.post(p, data);
    ASSERT_TRUE(out.push(from.view));
    ASSERT_EQ(out.next_out(), p + 1);
    ASSERT_TRUE(*in.pull(to.view));
    ASSERT_EQ(to.view.header(p).sequence.load(), p + 1);
    ASSERT_EQ(std::memcmp(to.view.slot(p), data.data(), data.size()), 0);
    to.view.credit->head = p + 1;
  }
}

TEST(Stream, StopsReadingWithoutAFreeSlot) {
  auto [left, right] = socket_pair(SOCK_STREAM);
  socket::Stream out(std::move(left), 0, 1);
  socket::Stream in(std::move(right), 0, 1);
  Lane from(4), to(2);
  for (std::uint64_t p = 0; p < 4; ++p) from.post(p, pattern(p, 200));
  ASSERT_TRUE(out.push(from.view));
  ASSERT_TRUE(*in.pull(to.view));
  EXPECT_FALSE(in.wants_read());
  EXPECT_EQ(to.view.header(0).sequence.load(), 1U);
  EXPECT_FALSE(*in.pull(to.view));
  to.view.credit->head = 2;
  ASSERT_TRUE(*in.pull(to.view));
  EXPECT_EQ(to.view.header(0).sequence.load(), 3U);
  EXPECT_EQ(to.view.header(1).sequence.load(), 4U);
}

Result<bool> pull_bytes(const std::vector<std::byte>& bytes) {
  auto [left, right] = socket_pair(SOCK_STREAM);
  socket::Stream in(std::move(right), 0, 1);
  EXPECT_EQ(::send(left.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  Lane to(2);
  return in.pull(to.view);
}

TEST(Stream, RefusesFramesThatNoRankSends) {
  const auto framed = [](socket::FrameHeader header) {
    const auto bytes = socket::encode(header);
    return std::vector<std::byte>(bytes.begin(), bytes.end());
  };
  const auto oversize = pull_bytes(framed({0, 257, 1, 1, socket::kDataFrame}));
  ASSERT_FALSE(oversize);
  EXPECT_NE(oversize.error().text.find("257 bytes"), std::string::npos) << oversize.error().text;
  EXPECT_FALSE(pull_bytes(framed({1, 4, 1, 1, socket::kDataFrame}))) << "position 1 before 0";
  EXPECT_FALSE(pull_bytes(framed({0, ~0ULL, 1, 1, socket::kDataFrame})));
  EXPECT_FALSE(pull_bytes(framed({0, 4, 1, 1, 0x12345678})));
  EXPECT_FALSE(pull_bytes(pattern(1, 64)));
  EXPECT_TRUE(pull_bytes(pattern(1, 31))) << "a part of a header is nothing yet";
}

TEST(Stream, AnEndInTheMiddleOfAFrameSaysSo) {
  auto [left, right] = socket_pair(SOCK_STREAM);
  socket::Stream in(std::move(right), 0, 1);
  Lane to(2);
  auto bytes = socket::encode({0, 100, 1, 1, socket::kDataFrame});
  ASSERT_EQ(::send(left.get(), bytes.data(), bytes.size(), 0), 32);
  left.reset();
  ASSERT_TRUE(in.pull(to.view));
  EXPECT_TRUE(in.ended());
  EXPECT_FALSE(in.said_goodbye());
  EXPECT_NE(in.how().find("in the middle"), std::string::npos);
}

TEST(ShmMessage, RefusesWrongSizesAndMagic) {
  auto [left, right] = socket_pair(SOCK_SEQPACKET);
  shm::Message message;
  std::vector<Fd> descriptors;
  EXPECT_EQ(*shm::receive_message(right, message, descriptors), shm::Received::nothing);
  const auto refuses = [&, &left = left, &right = right](const void* data, std::size_t bytes) {
    EXPECT_EQ(::send(left.get(), data, bytes, 0), static_cast<ssize_t>(bytes));
    return !shm::receive_message(right, message, descriptors);
  };
  std::array<std::byte, sizeof message + 8> bytes{};
  std::memcpy(bytes.data(), &message, sizeof message);
  EXPECT_TRUE(refuses(bytes.data(), sizeof message - 1));
  EXPECT_TRUE(refuses(bytes.data(), sizeof message + 1));
  bytes[0] ^= std::byte{1};
  EXPECT_TRUE(refuses(bytes.data(), sizeof message));
  left.reset();
  EXPECT_EQ(*shm::receive_message(right, message, descriptors), shm::Received::end);
}

TEST(ShmMessage, TruncatedDescriptorsAreToldAndClosed) {
  auto [left, right] = socket_pair(SOCK_SEQPACKET);
  const std::size_t before = open_descriptors();
  shm::Message message;
  constexpr std::size_t kTooMany = shm::kMaxDescriptors + 2;
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kTooMany)> control{};
  iovec part{&message, sizeof message};
  msghdr envelope{};
  envelope.msg_iov = &part;
  envelope.msg_iovlen = 1;
  envelope.msg_control = control.data();
  envelope.msg_controllen = control.size();
  cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * kTooMany);
  for (std::size_t i = 0; i < kTooMany; ++i) {
    const int fd = left.get();
    std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
  }
  ASSERT_EQ(::sendmsg(left.get(), &envelope, 0), static_cast<ssize_t>(sizeof message));
  std::vector<Fd> descriptors;
  const auto received = shm::receive_message(right, message, descriptors);
  ASSERT_TRUE(received);
  EXPECT_EQ(*received, shm::Received::cut);
  EXPECT_EQ(open_descriptors(), before);
}

TEST(ShmMessage, TheMacCoversRoleChallengesAndEveryField) {
  const JobKey key = fresh_key();
  Nonce a{1}, b{2};
  shm::Message message;
  const Mac mac = shm::message_mac(key.secret, true, a, b, message);
  EXPECT_EQ(mac, shm::message_mac(key.secret, true, a, b, message));
  EXPECT_NE(mac, shm::message_mac(key.secret, false, a, b, message));
  EXPECT_NE(mac, shm::message_mac(key.secret, true, b, a, message));
  EXPECT_NE(mac, shm::message_mac(fresh_key().secret, true, a, b, message));
  message.bytes = 1;
  EXPECT_NE(mac, shm::message_mac(key.secret, true, a, b, message));
}

TEST(Region, IsFoundByAnyPartOfItAndNeverAfterFree) {
  void* memory = *region_alloc(10000);
  auto* bytes = static_cast<std::byte*>(memory);
  const auto whole = region_find(bytes, 10000);
  ASSERT_TRUE(whole);
  EXPECT_EQ(whole->offset, 0U);
  const auto part = region_find(bytes + 4097, 100);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->offset, 4097U);
  EXPECT_EQ(part->id, whole->id);
  EXPECT_FALSE(region_find(bytes + 4097, whole->bytes));
  EXPECT_FALSE(region_find(bytes - 1, 10));
  EXPECT_FALSE(region_find(&part, 8));
  EXPECT_TRUE(region_file(whole->id).file);
  std::vector<std::uint64_t> freed;
  const RegionWatch watch([&](std::uint64_t id, RegionEnd when) {
    EXPECT_EQ(when, RegionEnd::at_once);
    freed.push_back(id);
  });
  EXPECT_TRUE(region_free(memory));
  EXPECT_EQ(freed, std::vector<std::uint64_t>{whole->id});
  EXPECT_FALSE(region_find(memory, 1));
  EXPECT_FALSE(region_file(whole->id).file);
  EXPECT_EQ(region_free(memory).status(), Status::invalid_argument);
  EXPECT_TRUE(region_free(nullptr));
  void* again = *region_alloc(10000);
  EXPECT_GT(region_find(again, 1)->id, whole->id);
  EXPECT_TRUE(region_free(again));
}

TEST(Region, LookUpsRunBesideAllocationAndFreeing) {
  void* stable = *region_alloc(8192);
  const std::uint64_t id = region_find(stable, 1)->id;
  std::atomic<bool> stop{false};
  std::thread churn([&] {
    for (int round = 0; round < 20; ++round) {
      std::vector<void*> many;
      for (int i = 0; i < 40; ++i) many.push_back(*region_alloc(4096));
      for (void* one : many) EXPECT_TRUE(region_free(one));
    }
    stop = true;
  });
  while (!stop) {
    const auto found = region_find(static_cast<std::byte*>(stable) + 100, 200);
    ASSERT_TRUE(found);
    ASSERT_EQ(found->id, id);
    ASSERT_EQ(found->offset, 100U);
  }
  churn.join();
  EXPECT_TRUE(region_free(stable));
}

TEST(HookPlan, AcceptsWhatIsDocumentedAndNothingElse) {
  using namespace hook;
  EXPECT_EQ(std::get<TracePlan>(*parse("trace:/tmp/a:b")).file, "/tmp/a:b");
  EXPECT_EQ(std::get<ThrottlePlan>(*parse("throttle:1000")).bytes_per_second, 1000U);
  const auto fault =
      std::get<FaultPlan>(*parse("fault:drop=3,delay_ms=5,corrupt=7,truncate=2,close=10,peer=1"));
  EXPECT_EQ(fault.drop, 3U);
  EXPECT_EQ(fault.corrupt, 7U);
  EXPECT_EQ(fault.truncate, 2U);
  EXPECT_EQ(fault.close, 10U);
  EXPECT_EQ(fault.peer, 1);
  EXPECT_EQ(fault.delay, milliseconds(5));
  for (const char* bad :
       {"", "trace", "trace:", "noise:1", "throttle:0", "throttle:x", "fault:drop",
        "fault:drop=", "fault:drop=-1", "fault:lose=1", "fault:drop=1x"}) {
    const auto refused = parse(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_NE(refused.error().text.find("GYRE_HOOK"), std::string::npos);
  }
}

}  // namespace
}  // namespace gyre::test
