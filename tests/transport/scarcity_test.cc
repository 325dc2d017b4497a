// Transports where something is short or goes wrong in the kernel: memory, descriptors, room in a
// queue, a buffer that is not there. Each time somebody gets a reason, and nobody waits for ever.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <new>
#include <thread>

#include "base/contain.hpp"
#include "bootstrap/address.hpp"
#include "bootstrap/handshake.hpp"
#include "bootstrap/socket_util.hpp"
#include "tests/scarce_memory.hpp"
#include "tests/transport/harness.hpp"
#include "transport/inbox.hpp"
#include "transport/shm/channel.hpp"
#include "transport/shm/region.hpp"
#include "transport/shm/rendezvous.hpp"
#include "transport/socket/arrivals.hpp"
#include "transport/socket/stream.hpp"

namespace gyre::test {
namespace {

// Exit status of `body` in a process of its own, which may take so many seconds.
int in_child(const std::function<int()>& body, unsigned seconds = 10) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(seconds);
    ::_exit(body());
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::array<Fd, 2> socket_pair(int type) {
  int pair[2];
  EXPECT_EQ(::socketpair(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair), 0);
  return {Fd(pair[0]), Fd(pair[1])};
}

std::array<Fd, 2> tcp_pair() {
  const Fd listener = *listen_at(Address::loopback(AF_INET));
  sockaddr_storage storage{};
  const socklen_t length = local_address_of(listener)->to_sockaddr(storage);
  Fd left(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(left.get(), reinterpret_cast<const sockaddr*>(&storage), length), 0);
  Fd right;
  while (!right) right = Fd(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
  return {std::move(left), std::move(right)};
}

void await(const Fd& fd, short events) {
  pollfd entry{fd.get(), events, 0};
  EXPECT_EQ(::poll(&entry, 1, 10'000), 1);
}

struct Lane {
  InboxLayout layout{1, 2, 256};
  Mapping memory = *Mapping::anonymous(layout.total_bytes());
  LaneView view = layout.view(memory.data(), 0);

  void refer(const void* data, std::uint64_t bytes) {
    SlotHeader& header = view.header(0);
    header.bytes = bytes;
    header.kind = SlotKind::address;
    header.location = reinterpret_cast<std::uint64_t>(data);
    header.sequence.store(1);
  }
};

TEST(Scarcity, APayloadThatCannotBeReadIsAnError) {
  void* nowhere = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  auto [left, right] = tcp_pair();
  socket::Stream out(std::move(left), 0, 1);
  Lane from;
  from.refer(nowhere, 200);
  Result<bool> pushed = out.push(from.view);
  // The header may go before the payload is looked at.
  for (int i = 0; i < 3 && pushed; ++i) pushed = out.push(from.view);
  ASSERT_FALSE(pushed);
  EXPECT_NE(pushed.error().text.find("Bad address"), std::string::npos) << pushed.error().text;
  EXPECT_NE(pushed.error().text.find("200 bytes"), std::string::npos) << pushed.error().text;
  ::munmap(nowhere, 4096);
}

TEST(Scarcity, WhatASendFoundIsTheReasonOfTheLoss) {
  auto [left, right] = tcp_pair();
  const int descriptor = left.get();
  socket::Stream stream(std::move(left), 0, 1);
  const linger at_once{1, 0};
  ::setsockopt(right.get(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
  right.reset();
  pollfd entry{descriptor, POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  Lane from, to;
  from.refer("some words", 10);
  const Result<bool> pushed = stream.push(from.view);  // takes the error off the socket
  ASSERT_TRUE(pushed);
  ASSERT_TRUE(stream.pull(to.view));
  ASSERT_TRUE(stream.ended());
  EXPECT_NE(stream.how().find("reset by peer"), std::string::npos) << stream.how();
}

TEST(Scarcity, ATalkativePeerIsNotDiscardedForEver) {
  auto [left, right] = tcp_pair();
  const std::vector<std::byte> bytes(64 << 10);
  std::size_t sent = 0;
  while (sent < 1U << 20) {
    const ssize_t some = ::send(left.get(), bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (some < 0) break;
    sent += static_cast<std::size_t>(some);
  }
  ASSERT_GT(sent, 512U << 10);
  ::shutdown(left.get(), SHUT_WR);
  socket::Stream in(std::move(right), 0, 1);
  int calls = 1;
  const Deadline deadline = Deadline::after(kHang);
  while (!in.discard() && !deadline.expired()) ++calls;
  EXPECT_FALSE(deadline.expired());
  EXPECT_GT(calls, 1);
}

TEST(Scarcity, OfTwoConnectionsOfAPeerTheLaterCounts) {
  socket::Arrivals arrivals(2, 1);
  auto [dead, dead_end] = socket_pair(SOCK_STREAM);
  auto [alive, alive_end] = socket_pair(SOCK_STREAM);
  const int wanted = alive.get();
  const Hello hello{Purpose::lane, 1, 0, 0};
  arrivals.add(hello, std::move(dead));
  arrivals.add(hello, std::move(alive));
  EXPECT_EQ(arrivals.take(1, 0, Deadline::after(milliseconds(0)), nullptr).get(), wanted);
}

void send_with_descriptors(const Fd& socket, const shm::Message& message, std::size_t count) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * 8)> control{};
  iovec part{const_cast<shm::Message*>(&message), sizeof message};
  msghdr envelope{};
  envelope.msg_iov = &part;
  envelope.msg_iovlen = 1;
  envelope.msg_control = control.data();
  envelope.msg_controllen = CMSG_SPACE(sizeof(int) * count);
  cmsghdr* rights = CMSG_FIRSTHDR(&envelope);
  rights->cmsg_level = SOL_SOCKET;
  rights->cmsg_type = SCM_RIGHTS;
  rights->cmsg_len = CMSG_LEN(sizeof(int) * count);
  const int fd = socket.get();
  for (std::size_t i = 0; i < count; ++i) {
    std::memcpy(CMSG_DATA(rights) + i * sizeof fd, &fd, sizeof fd);
  }
  ASSERT_EQ(::sendmsg(socket.get(), &envelope, 0), static_cast<ssize_t>(sizeof message));
}

TEST(Scarcity, ARegionWhoseDescriptorWasCutOffIsNotThePeersEnd) {
  auto [left, right] = socket_pair(SOCK_SEQPACKET);
  const auto channel = std::make_shared<shm::Channel>(0, 1, std::move(right), 0);
  shm::Message region;
  region.type = shm::MessageType::region;
  region.region = 1;
  region.bytes = 4096;
  send_with_descriptors(left, region, 5);  // as many as no rank sends: cut off like at a full table
  channel->receive();
  EXPECT_FALSE(channel->ended());
  EXPECT_TRUE(channel->regions().empty());
  shm::Message odd;
  odd.type = shm::MessageType::goodbye;
  send_with_descriptors(left, odd, 5);
  channel->receive();
  EXPECT_TRUE(channel->ended()) << "no other message hands anything over";
  channel->close(false);
}

struct Meeting {
  Meeting() {
    own.rank = 0;
    own.key = fresh_key();
    own.layout = {1, 4, 4096};
    fill_random(name);
    fill_random(peer_name);
    listener = *shm::listen_on(name);
    peer_listener = *shm::listen_on(peer_name);
  }
  shm::Own own;
  shm::SocketName name{}, peer_name{};
  Fd listener, peer_listener;
};

// A connected socket to a name; the text form of rendezvous.cc.
Fd dial(const shm::SocketName& name) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::string text = "gyre-";
  for (const std::uint8_t byte : name) text += fmt::format("{:02x}", byte);
  std::memcpy(address.sun_path + 1, text.data(), text.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  Fd fd(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&address), length), 0);
  return fd;
}

TEST(Scarcity, WithoutDescriptorsAPairingFailsWithThatReason) {
  EXPECT_EQ(in_child([] {
              const Meeting meeting;
              const Fd one = dial(meeting.name);
              const Fd two = dial(meeting.name);
              // The probe of the peer and one connection find room, the next does not.
              const auto limit = static_cast<rlim_t>(::dup(0)) + 1;
              ::close(static_cast<int>(limit) - 1);
              const rlimit both{limit, limit};
              if (::setrlimit(RLIMIT_NOFILE, &both) != 0) return 1;
              shm::Rendezvous rendezvous(meeting.own, meeting.listener);
              const std::array<shm::Rendezvous::Peer, 1> peers{{{1, 0, meeting.peer_name}}};
              const auto start = Clock::now();
              rendezvous.run(peers, Deadline::after(milliseconds(4'000)), nullptr);
              if (Clock::now() - start > milliseconds(3'000)) return 2;
              const std::string why = rendezvous.failures().at(1);
              return why.find("open files") != std::string::npos ? 0 : 3;
            }),
            0);
}

TEST(Scarcity, APeerWhoseQueueIsFullIsDialledAgain) {
  Meeting meeting;
  meeting.own.rank = 2;  // the higher rank dials
  ASSERT_EQ(::listen(meeting.peer_listener.get(), 0), 0);
  const Fd first = dial(meeting.peer_name);  // fills the queue
  bool greeted = false;
  std::thread peer([&] {
    std::this_thread::sleep_for(milliseconds(200));
    for (int i = 0; i < 2; ++i) {
      await(meeting.peer_listener, POLLIN);
      const Fd socket(::accept4(meeting.peer_listener.get(), nullptr, nullptr, SOCK_NONBLOCK));
      if (i == 0 || !socket) continue;
      await(socket, POLLIN);
      shm::Message message;
      std::vector<Fd> descriptors;
      const auto received = shm::receive_message(socket, message, descriptors);
      greeted = received && *received == shm::Received::message && message.from == 2;
    }
  });
  shm::Rendezvous rendezvous(meeting.own, meeting.listener);
  const std::array<shm::Rendezvous::Peer, 1> peers{{{1, 0, meeting.peer_name}}};
  rendezvous.run(peers, Deadline::after(milliseconds(8'000)), nullptr);
  peer.join();
  EXPECT_TRUE(greeted) << rendezvous.failures().at(1);
}

TEST(Scarcity, LookUpsGoOnWhenTheTableOfRegionsCannotGrow) {
  EXPECT_EQ(in_child([] {
              void* const first = *region_alloc(100);
              int made = 0;
              largest_block = 1000;  // enough for anything but a table
              while (made < 5000) {
                const auto one = contained("", [] { return region_alloc(100); });
                if (!one) break;
                ++made;
              }
              largest_block = kNoLimit;
              if (made == 5000) return 1;
              if (!region_find(first, 100)) return 2;
              void* const later = *region_alloc(100);
              if (!region_find(later, 100)) return 3;
              return region_free(later) && region_free(first) ? 0 : 4;
            }),
            0);
}

TEST(Scarcity, ARegionOfAbsurdSizeIsRefusedWithTheSize) {
  const auto absurd = region_alloc(std::numeric_limits<std::size_t>::max());
  ASSERT_FALSE(absurd);
  EXPECT_NE(absurd.error().text.find("18446744073709551615"), std::string::npos)
      << absurd.error().text;
}

}  // namespace
}  // namespace gyre::test
