#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <future>
#include <memory>
#include <numeric>
#include <string>
#include <thread>
#include <vector>

#include "backend/host_event.hpp"
#include "backend/host_stream.hpp"

namespace gyre {
namespace {

// A stream that ends with its test.
struct OpenStream {
  HostStream* stream = *HostStream::create();
  OpenStream() = default;
  OpenStream(const OpenStream&) = delete;
  OpenStream& operator=(const OpenStream&) = delete;
  ~OpenStream() { (void)HostStream::destroy(stream); }
  HostStream* operator->() const { return stream; }
};

TEST(Task, KeepsSmallWorkInlineAndMovesLargeWork) {
  int calls = 0;
  std::array<char, 4 * Task::kInlineBytes> large{};
  large[7] = 3;
  Task small([&calls] { ++calls; });
  Task boxed([large, &calls] { calls += large[7]; });
  Task moved = std::move(small);
  EXPECT_FALSE(small);
  small = std::move(boxed);
  ASSERT_TRUE(moved());
  ASSERT_TRUE(small());
  EXPECT_EQ(calls, 4);
}

TEST(Task, DestroysWhatItHoldsOnce) {
  auto token = std::make_shared<int>(1);
  {
    Task task([token] {});
    Task other = std::move(task);
    EXPECT_EQ(token.use_count(), 2);
  }
  EXPECT_EQ(token.use_count(), 1);
}

TEST(HostStream, RunsWorkInOrderThroughRingGrowth) {
  OpenStream stream;
  std::promise<void> gate;
  std::vector<int> order;
  ASSERT_TRUE(stream->enqueue([opened = gate.get_future().share()] { opened.wait(); }));
  constexpr int kWorks = 1000;
  for (int i = 0; i < kWorks; ++i)
    ASSERT_TRUE(stream->enqueue([&order, i] { order.push_back(i); }));
  EXPECT_FALSE(stream->idle());
  gate.set_value();
  ASSERT_TRUE(stream->synchronize());
  EXPECT_TRUE(stream->idle());
  std::vector<int> expected(kWorks);
  std::iota(expected.begin(), expected.end(), 0);
  EXPECT_EQ(order, expected);
}

TEST(HostStream, EmptyStreamIsIdleWithoutAWorker) {
  OpenStream stream;
  EXPECT_TRUE(stream->idle());
  EXPECT_TRUE(stream->synchronize());
}

TEST(HostStream, FromRefusesForeignHandles) {
  OpenStream stream;
  EXPECT_EQ(HostStream::from(stream->handle()), stream.stream);
  EXPECT_EQ(HostStream::from(nullptr), nullptr);
  EXPECT_EQ(HostStream::from(reinterpret_cast<void*>(1)), nullptr);
  EXPECT_EQ(HostStream::from(reinterpret_cast<void*>(2)), nullptr);
  alignas(64) std::array<std::uint64_t, 32> foreign{};
  EXPECT_EQ(HostStream::from(foreign.data()), nullptr);
}

TEST(HostStream, FirstErrorStaysAndLaterWorkStillRuns) {
  OpenStream stream;
  bool ran = false;
  ASSERT_TRUE(stream->enqueue([]() -> Result<void> { return Error{Status::peer_lost, "rank 3"}; }));
  ASSERT_TRUE(stream->enqueue([]() -> Result<void> { return Error{Status::system, "later"}; }));
  ASSERT_TRUE(stream->enqueue([&ran] { ran = true; }));
  for (int i = 0; i < 2; ++i) {
    const auto result = stream->synchronize();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().text, "rank 3");
    EXPECT_EQ(result.status(), Status::peer_lost);
  }
  EXPECT_TRUE(ran);
}

TEST(HostStream, ExceptionOfWorkBecomesAnError) {
  OpenStream stream;
  ASSERT_TRUE(stream->enqueue([] { throw std::runtime_error("thrown by work"); }));
  const auto result = stream->synchronize();
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().text.find("thrown by work"), std::string::npos);
}

TEST(HostStream, OwnWorkMayNotWaitForItself) {
  OpenStream stream;
  Status waited = Status::ok;
  Status destroyed = Status::ok;
  ASSERT_TRUE(stream->enqueue([&] {
    waited = stream->synchronize().status();
    destroyed = HostStream::destroy(stream.stream).status();
  }));
  ASSERT_TRUE(stream->synchronize());
  EXPECT_EQ(waited, Status::invalid_usage);
  EXPECT_EQ(destroyed, Status::invalid_usage);
}

TEST(HostStream, DestroyDrains) {
  HostStream* stream = *HostStream::create();
  std::promise<void> gate;
  int done = 0;
  ASSERT_TRUE(stream->enqueue([opened = gate.get_future().share()] { opened.wait(); }));
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream->enqueue([&done] { ++done; }));
  std::thread opener([&] { gate.set_value(); });
  ASSERT_TRUE(HostStream::destroy(stream));
  opener.join();
  EXPECT_EQ(done, 10);
}

TEST(HostStream, ManyThreadsMayEnqueue) {
  OpenStream stream;
  std::uint64_t sum = 0;  // touched by the worker alone
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 500; ++i) ASSERT_TRUE(stream->enqueue([&sum] { ++sum; }));
    });
  }
  for (auto& thread : threads) thread.join();
  ASSERT_TRUE(HostStream::synchronize_all());
  EXPECT_EQ(sum, 2000U);
}

TEST(HostStream, ForkedChildIsRefused) {
  HostStream* stream = *HostStream::create();
  ASSERT_TRUE(stream->enqueue([] {}));
  ASSERT_TRUE(stream->synchronize());
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    const bool refused = stream->enqueue([] {}).status() == Status::invalid_usage &&
                         stream->synchronize().status() == Status::invalid_usage &&
                         HostStream::destroy(stream).status() == Status::invalid_usage &&
                         HostStream::create().status() == Status::invalid_usage;
    ::_exit(refused ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  EXPECT_TRUE(HostStream::destroy(stream));
}

TEST(HostEvent, OrdersTwoStreams) {
  OpenStream first;
  OpenStream second;
  HostEvent event;
  std::promise<void> gate;
  int value = 0;
  int seen = 0;
  ASSERT_TRUE(first->enqueue([opened = gate.get_future().share()] { opened.wait(); }));
  ASSERT_TRUE(first->enqueue([&value] { value = 42; }));
  ASSERT_TRUE(event.record(first.stream));
  ASSERT_TRUE(event.hold_back(second.stream));
  ASSERT_TRUE(second->enqueue([&] { seen = value; }));
  EXPECT_EQ(event.query().status(), Status::busy);
  gate.set_value();
  ASSERT_TRUE(second->synchronize());
  EXPECT_EQ(seen, 42);
  EXPECT_TRUE(event.query());
}

TEST(HostEvent, NeverRecordedIsReachedButHasNoTime) {
  HostEvent event;
  EXPECT_TRUE(event.query());
  EXPECT_TRUE(event.synchronize());
  EXPECT_EQ(event.reached_at().status(), Status::invalid_usage);
}

TEST(HostEvent, CarriesTheErrorOfItsStream) {
  OpenStream first;
  OpenStream second;
  HostEvent event;
  ASSERT_TRUE(first->enqueue([]() -> Result<void> { return Error{Status::peer_lost, "rank 1"}; }));
  ASSERT_TRUE(event.record(first.stream));
  ASSERT_TRUE(event.hold_back(second.stream));
  EXPECT_EQ(event.synchronize().status(), Status::peer_lost);
  EXPECT_EQ(second->synchronize().status(), Status::peer_lost);
}

TEST(HostEvent, MayEndBeforeItsRecordIsReached) {
  OpenStream stream;
  std::promise<void> gate;
  ASSERT_TRUE(stream->enqueue([opened = gate.get_future().share()] { opened.wait(); }));
  {
    HostEvent event;
    ASSERT_TRUE(event.record(stream.stream));
  }
  gate.set_value();
  EXPECT_TRUE(stream->synchronize());
}

TEST(HostEvent, LaterRecordMeansTheLaterPoint) {
  OpenStream stream;
  HostEvent event;
  ASSERT_TRUE(event.record(nullptr));
  ASSERT_TRUE(event.query());
  std::promise<void> gate;
  ASSERT_TRUE(stream->enqueue([opened = gate.get_future().share()] { opened.wait(); }));
  ASSERT_TRUE(event.record(stream.stream));
  EXPECT_EQ(event.query().status(), Status::busy);
  gate.set_value();
  EXPECT_TRUE(event.synchronize());
}

}  // namespace
}  // namespace gyre
