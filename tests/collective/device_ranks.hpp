// Ranks on the device as threads of the test's process, each with streams of its own.
#pragma once

#include <chrono>
#include <string>

#include "tests/collective/device_array.hpp"
#include "tests/collective/ranks.hpp"

namespace gyre::test {

// Every test of device ranks begins with it.
#define GYRE_NEEDS_DEVICE() \
  if (!ranks_are_on_device()) GTEST_SKIP() << "GYRE_DEVICE names no device"

// Until the stream's work is done, whatever the outcome of a collective in it.
inline testing::AssertionResult done(cudaStream_t stream) {
  const std::string wrong = wait_for(stream);
  return wrong.empty() ? testing::AssertionSuccess() : testing::AssertionFailure() << wrong;
}

struct DeviceRankUnderTest {
  int rank;
  ncclComm_t comm;
  cudaStream_t stream;
};

// As with_ranks.
inline void with_device_ranks(int world,
                              const std::function<void(const DeviceRankUnderTest&)>& body) {
  with_ranks(world, [&](ncclComm_t comm, int rank) { body({rank, comm, rank_stream()}); });
}

// What the communicator says within 10 s that is not "in order", and in which words.
struct Verdict {
  ncclResult_t code = ncclSuccess;
  std::string text;

  bool names(const std::string& part) const { return text.find(part) != std::string::npos; }
};
inline Verdict verdict_of(ncclComm_t comm) {
  using namespace std::chrono_literals;
  Verdict verdict;
  const auto until = std::chrono::steady_clock::now() + 10s;
  while (verdict.code == ncclSuccess && std::chrono::steady_clock::now() < until) {
    EXPECT_TRUE(ok(ncclCommGetAsyncError(comm, &verdict.code)));
    std::this_thread::sleep_for(1ms);  // between two looks
  }
  verdict.text = ncclGetLastError(comm);
  return verdict;
}

}  // namespace gyre::test
