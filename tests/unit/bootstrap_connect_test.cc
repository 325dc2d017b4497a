// Listener, dialer, handshake and reactor, with strangers about.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <mutex>
#include <random>
#include <vector>

#include "bootstrap/dial.hpp"
#include "bootstrap/interfaces.hpp"
#include "bootstrap/listener.hpp"
#include "bootstrap/reactor.hpp"
#include "bootstrap/rendezvous.hpp"
#include "bootstrap/socket_util.hpp"
#include "tests/unit/bootstrap_threads.hpp"

namespace gyre {
namespace {

using test::eventually;
using test::run_ranks;
using test::seconds_since;

Deadline soon() { return Deadline::after(milliseconds(20'000)); }

std::vector<Address> own_addresses() {
  const auto endpoint = local_endpoint();
  EXPECT_TRUE(endpoint);
  return reachable(*endpoint);
}

// A plain blocking connection to our listener, as a stranger makes it.
Fd stranger() {
  sockaddr_storage storage{};
  const Address address = Address::loopback(AF_INET).with_port(*Listener::instance().port());
  const socklen_t length = address.to_sockaddr(storage);
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(fd.get(), reinterpret_cast<const sockaddr*>(&storage), length), 0);
  return fd;
}

bool peer_closed(const Fd& fd) {
  pollfd entry{fd.get(), POLLIN, 0};
  if (::poll(&entry, 1, 10'000) != 1) return false;
  char byte = 0;
  return ::recv(fd.get(), &byte, 1, 0) <= 0;
}

// Collects what a registration hands over.
class Inbox {
 public:
  Listener::Handler handler() {
    return [this](const Hello& hello, Fd fd) {
      const std::lock_guard lock(mutex_);
      hellos_.push_back(hello);
      fds_.push_back(std::move(fd));
    };
  }
  std::vector<Hello> hellos() const {
    const std::lock_guard lock(mutex_);
    return hellos_;
  }
  int descriptor(std::size_t index) const {
    const std::lock_guard lock(mutex_);
    return fds_.at(index).get();
  }

 private:
  mutable std::mutex mutex_;
  std::vector<Hello> hellos_;
  std::vector<Fd> fds_;
};

TEST(Reactor, WatchesTimesAndPosts) {
  const Fd event(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  std::atomic<int> events{0};
  {
    const auto token = Reactor::instance().watch(event.get(), EPOLLIN, [&](std::uint32_t) {
      std::uint64_t count = 0;
      [[maybe_unused]] const auto got = ::read(event.get(), &count, sizeof count);
      ++events;
    });
    const std::uint64_t one = 1;
    ASSERT_EQ(::write(event.get(), &one, sizeof one), 8);
    EXPECT_TRUE(eventually([&] { return events == 1; }));
  }
  const std::uint64_t one = 1;
  ASSERT_EQ(::write(event.get(), &one, sizeof one), 8);
  bool ran = false;
  Reactor::instance().run([&] { ran = Reactor::instance().on_reactor_thread(); });
  EXPECT_TRUE(ran);
  EXPECT_EQ(events, 1);  // not watched any more

  std::vector<int> order;
  std::atomic<bool> done{false};
  const auto now = Clock::now();
  const auto second = Reactor::instance().at(now + milliseconds(20), [&] {
    order.push_back(2);
    done = true;
  });
  const auto first = Reactor::instance().at(now + milliseconds(10), [&] { order.push_back(1); });
  {
    const auto never = Reactor::instance().at(now + milliseconds(5), [&] { order.push_back(0); });
  }
  EXPECT_TRUE(eventually([&] { return done.load(); }));
  Reactor::instance().run([&] { EXPECT_EQ(order, (std::vector<int>{1, 2})); });
}

TEST(Reactor, AHandlerDoesNotRunOnceItsTokenIsGone) {
  for (int round = 0; round < 200; ++round) {
    const Fd event(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
    auto alive = std::make_unique<std::atomic<int>>(0);
    auto token = Reactor::instance().watch(
        event.get(), EPOLLIN, [raw = alive.get()](std::uint32_t) { raw->fetch_add(1); });
    token.reset();
    alive.reset();  // a handler that still ran would touch freed memory (ASan, TSan)
  }
}

TEST(Reactor, AHandlerMayDropItsOwnToken) {
  const Fd event(::eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK));
  std::atomic<int> calls{0};
  Reactor::Token token;
  Reactor::instance().run([&] {
    token = Reactor::instance().watch(event.get(), EPOLLIN, [&](std::uint32_t) {
      ++calls;
      token.reset();
    });
  });
  EXPECT_TRUE(eventually([&] { return calls == 1; }));
  Reactor::instance().run([] {});
  EXPECT_EQ(calls, 1);
}

TEST(Connect, HandsOverWhatTheHelloSays) {
  const JobKey key = random_job_key();
  Inbox inbox;
  const auto registration = Listener::instance().expect(key, Purpose::lane, 7, inbox.handler());
  ASSERT_TRUE(registration);
  const Hello hello{Purpose::lane, 3, 7, 42};
  const auto fd = dial(own_addresses(), key, hello, soon(), nullptr, false);
  ASSERT_TRUE(fd) << fd.error().text;
  ASSERT_TRUE(eventually([&] { return inbox.hellos().size() == 1; }));
  EXPECT_EQ(inbox.hellos().front(), hello);
  // Not one byte of the handshake is left in the stream, in either direction.
  const auto ping = test::bytes_of("ping");
  EXPECT_EQ(send_some(*fd, ping).bytes, ping.size());
  std::array<char, 16> buffer{};
  pollfd entry{inbox.descriptor(0), POLLIN, 0};
  ASSERT_EQ(::poll(&entry, 1, 10'000), 1);
  EXPECT_EQ(::recv(inbox.descriptor(0), buffer.data(), buffer.size(), 0), 4);
  EXPECT_EQ(std::string_view(buffer.data(), 4), "ping");
}

TEST(Connect, EachRankOfAProcessGetsItsOwn) {
  const JobKey key = random_job_key();
  std::vector<Inbox> inboxes(3);
  std::vector<Listener::Registration> registrations;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    auto one = Listener::instance().expect(key, Purpose::lane, rank, inboxes[rank].handler());
    ASSERT_TRUE(one);
    registrations.push_back(*std::move(one));
  }
  EXPECT_EQ(Listener::instance().expect(key, Purpose::lane, 1, inboxes[0].handler()).status(),
            Status::busy);
  run_ranks(3, [&](int rank) {
    const auto to = static_cast<std::uint32_t>(rank);
    EXPECT_TRUE(dial(own_addresses(), key, {Purpose::lane, 9, to, 0}, soon(), nullptr, false));
  });
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    ASSERT_TRUE(eventually([&] { return inboxes[rank].hellos().size() == 1; }));
    EXPECT_EQ(inboxes[rank].hellos().front().to_rank, rank);
  }
  registrations.clear();
  EXPECT_TRUE(Listener::instance().expect(key, Purpose::lane, 1, inboxes[0].handler()));
}

TEST(Connect, AWrongSecretIsNotLetIn) {
  const JobKey key = random_job_key();
  Inbox inbox;
  const auto registration = Listener::instance().expect(key, Purpose::control, inbox.handler());
  JobKey wrong = key;
  wrong.secret[0] ^= 1;
  const auto fd = dial(own_addresses(), wrong, {Purpose::control, 1, 0, 0}, soon(), nullptr, false);
  ASSERT_FALSE(fd);
  EXPECT_NE(fd.error().text.find("does not know this job's secret"), std::string::npos)
      << fd.error().text;
  EXPECT_TRUE(inbox.hellos().empty());
}

TEST(Connect, AnotherPurposeOrRankIsNotLetIn) {
  const JobKey key = random_job_key();
  Inbox inbox;
  const auto registration = Listener::instance().expect(key, Purpose::lane, 2, inbox.handler());
  EXPECT_FALSE(dial(own_addresses(), key, {Purpose::control, 1, 2, 0}, soon(), nullptr, false));
  EXPECT_FALSE(dial(own_addresses(), key, {Purpose::lane, 1, 3, 0}, soon(), nullptr, false));
  EXPECT_TRUE(inbox.hellos().empty());
}

TEST(Connect, PatienceWaitsForALateListener) {
  const JobKey key = random_job_key();
  const Hello hello{Purpose::control, 1, 0, 0};
  EXPECT_FALSE(dial(own_addresses(), key, hello, soon(), nullptr, false));
  Inbox inbox;
  Result<Fd> fd = Error{};
  const auto addresses = own_addresses();
  std::thread dialer([&] { fd = dial(addresses, key, hello, soon(), nullptr, true); });
  const auto registration = Listener::instance().expect(key, Purpose::control, inbox.handler());
  dialer.join();
  EXPECT_TRUE(fd) << fd.error().text;
}

TEST(Connect, OnlyOneOfSeveralCandidatesIsHandedOver) {
  const JobKey key = random_job_key();
  Inbox inbox;
  const auto registration = Listener::instance().expect(key, Purpose::control, inbox.handler());
  auto candidates = own_addresses();
  const auto copies = candidates;
  for (int i = 0; i < 3; ++i) candidates.insert(candidates.end(), copies.begin(), copies.end());
  for (int round = 0; round < 20; ++round) {
    EXPECT_TRUE(dial(candidates, key, {Purpose::control, 1, 0, 0}, soon(), nullptr, true));
  }
  Reactor::instance().run([] {});
  EXPECT_TRUE(eventually([&] { return inbox.hellos().size() >= 20; }));
  EXPECT_EQ(inbox.hellos().size(), 20U);
}

TEST(Connect, UnusableCandidatesCostLittle) {
  const JobKey key = random_job_key();
  Inbox inbox;
  const auto registration = Listener::instance().expect(key, Purpose::control, inbox.handler());
  // TEST-NET-1 and a documentation prefix: nobody answers there; port 1: refused.
  auto candidates = std::vector<Address>{Address::loopback(AF_INET).with_port(1)};
  Address silent;
  silent.bytes = {192, 0, 2, 77};
  candidates.push_back(silent.with_port(9));
  const auto own = own_addresses();
  candidates.insert(candidates.end(), own.begin(), own.end());
  const auto start = Clock::now();
  const auto fd = dial(candidates, key, {Purpose::control, 1, 0, 0}, soon(), nullptr, false);
  EXPECT_TRUE(fd) << fd.error().text;
  EXPECT_LT(seconds_since(start), test::allowed(2.0));
}

TEST(Connect, TheErrorListsWhatWasTriedAndWhy) {
  const auto fd = dial(std::vector<Address>{Address::loopback(AF_INET).with_port(1)},
                       random_job_key(), {Purpose::lane, 1, 5, 0}, soon(), nullptr, false);
  ASSERT_FALSE(fd);
  for (const char* part : {"rank 5", "127.0.0.1:1", "refused"}) {
    EXPECT_NE(fd.error().text.find(part), std::string::npos) << fd.error().text;
  }
  EXPECT_FALSE(dial({}, random_job_key(), {Purpose::lane, 1, 5, 0}, soon(), nullptr, true));
}

TEST(Connect, AnAbortEndsDialing) {
  AbortState abort;
  std::thread raiser([&] { abort.raise({Status::aborted, "enough"}); });
  const auto fd = dial(std::vector<Address>{Address::loopback(AF_INET).with_port(1)},
                       random_job_key(), {}, Deadline::never(), &abort, true);
  raiser.join();
  EXPECT_EQ(fd.status(), Status::aborted);
}

TEST(Strangers, AreClosedAtTheirFirstMessage) {
  for (const bool right_size : {true, false}) {
    const Fd fd = stranger();
    std::mt19937 random(1);
    std::vector<char> noise(right_size ? kOpeningBytes : 5000);
    for (char& c : noise) c = static_cast<char>(random());
    ASSERT_GT(::send(fd.get(), noise.data(), noise.size(), MSG_NOSIGNAL), 0);
    EXPECT_TRUE(peer_closed(fd));
  }
}

TEST(Strangers, AnOpeningOfAnUnknownJobIsClosed) {
  const Fd fd = stranger();
  Opening opening;
  fill_random(opening.job);
  const auto bytes = encode(opening);
  ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t{kOpeningBytes});
  EXPECT_TRUE(peer_closed(fd));
}

TEST(Strangers, AWrongProofIsClosed) {
  const JobKey key = random_job_key();
  Inbox inbox;
  const auto registration = Listener::instance().expect(key, Purpose::control, inbox.handler());
  const Fd fd = stranger();
  Opening opening;
  opening.job = key.nonce;
  fill_random(opening.dialer);
  const auto bytes = encode(opening);
  ASSERT_EQ(::send(fd.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL), ssize_t{kOpeningBytes});
  std::array<char, kChallengeBytes> challenge{};
  ASSERT_EQ(::recv(fd.get(), challenge.data(), challenge.size(), MSG_WAITALL),
            ssize_t{kChallengeBytes});
  // Replaying the listener's own mac must not do: its label is another one.
  ASSERT_EQ(::send(fd.get(), challenge.data() + 32, kProofBytes, MSG_NOSIGNAL),
            ssize_t{kProofBytes});
  EXPECT_TRUE(peer_closed(fd));
  EXPECT_TRUE(inbox.hellos().empty());
}

TEST(Strangers, ACrowdOfThemDoesNotDelayInit) {
  // Half-open connections, some with a part of an opening, more than the pending list holds; and a
  // slow one that sends a byte at a time meanwhile.
  std::vector<Fd> crowd;
  for (int i = 0; i < 700; ++i) {
    crowd.push_back(stranger());
    if (i % 2 == 0) ::send(crowd.back().get(), "GYREhs01", 8, MSG_NOSIGNAL);
  }
  std::atomic<bool> stop{false};
  std::thread slow([&] {
    const Fd fd = stranger();
    while (!stop && ::send(fd.get(), "G", 1, MSG_NOSIGNAL) == 1) ::poll(nullptr, 0, 1);
  });
  std::thread noisy([&] {
    while (!stop) {
      const Fd fd = stranger();
      ::send(fd.get(), "GET / HTTP/1.1\r\n\r\n", 18, MSG_NOSIGNAL);
    }
  });
  const auto start = Clock::now();
  const auto id = create_unique_id();
  ASSERT_TRUE(id);
  run_ranks(8, [&](int rank) {
    const auto all = rendezvous(*id, rank, 8, test::bytes_of("x"), soon(), nullptr);
    EXPECT_TRUE(all) << all.error().text;
  });
  EXPECT_LT(seconds_since(start), test::allowed(2.0));
  stop = true;
  slow.join();
  noisy.join();
}

TEST(Strangers, ASilentOneIsDroppedInTime) {
  const Fd fd = stranger();
  const auto start = Clock::now();
  EXPECT_TRUE(peer_closed(fd));
  EXPECT_LT(seconds_since(start), test::allowed(9.0));
}

TEST(Listener, AFixedPortIsSharedAndGivenBack) {
  const auto probe = listen_at(Address::any(AF_INET));
  ASSERT_TRUE(probe);
  const std::uint16_t port = local_address_of(*probe)->port;
  const Address fixed = Address::any(AF_INET).with_port(port);
  EXPECT_EQ(Listener::instance().also_listen_on(fixed).status(), Status::system);  // taken
  const_cast<Fd&>(*probe).reset();
  {
    const auto first = Listener::instance().also_listen_on(fixed);
    ASSERT_TRUE(first) << first.error().text;
    const auto second = Listener::instance().also_listen_on(fixed);
    ASSERT_TRUE(second) << second.error().text;
  }
  EXPECT_TRUE(listen_at(fixed));
}

}  // namespace
}  // namespace gyre
