// Ranks as threads of the test's process.
#pragma once

#include <gtest/gtest.h>
#include <nccl.h>

#include <barrier>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

namespace gyre::test {

inline testing::AssertionResult ok(ncclResult_t result) {
  if (result == ncclSuccess) return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << ncclGetErrorString(result) << " (code " << result << "): " << ncclGetLastError(nullptr);
}

inline ncclUniqueId new_id() {
  ncclUniqueId id{};
  EXPECT_TRUE(ok(ncclGetUniqueId(&id)));
  return id;
}

// Runs `body(rank)` on one thread per rank.
inline void on_threads(int world, const std::function<void(int)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < world; ++rank) threads.emplace_back([&body, rank] { body(rank); });
}

// Runs `body(comm, rank)` on one thread per rank of a new communicator. Once the test has failed,
// ranks leave by aborting, so that nobody waits for them.
inline void with_ranks(int world, const std::function<void(ncclComm_t, int)>& body) {
  const ncclUniqueId id = new_id();
  on_threads(world, [&](int rank) {
    ncclComm_t comm = nullptr;
    ASSERT_TRUE(ok(ncclCommInitRank(&comm, world, id, rank)));
    body(comm, rank);
    const bool failed = testing::Test::HasFailure();
    EXPECT_TRUE(ok(failed ? ncclCommAbort(comm) : ncclCommDestroy(comm)));
  });
}

// TEST_SEED, or 1; printed, so that a failure can be repeated.
inline std::uint64_t test_seed() {
  const char* given = std::getenv("TEST_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 0) : 1;
  std::printf("seed %llu (TEST_SEED)\n", static_cast<unsigned long long>(seed));
  return seed;
}

}  // namespace gyre::test
