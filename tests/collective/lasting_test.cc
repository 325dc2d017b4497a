// Peers may read a rank's input where it lies: only as long as the call lasts, and also if they map
// the output alone.
#include <algorithm>
#include <tuple>

#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

constexpr int kWorld = 3;
constexpr int kRounds = 30;
constexpr std::size_t kMost = 96 << 10;  // elements of 4 bytes

enum class Place { plain, mapped };

// Memory of either kind.
class Memory {
 public:
  Memory(Place place, std::size_t count) : place_(place), count_(count) {
    if (place == Place::plain) {
      plain_.resize(count);
      return;
    }
    void* given = nullptr;
    EXPECT_TRUE(ok(ncclMemAlloc(&given, count * sizeof(std::int32_t))));
    mapped_ = static_cast<std::int32_t*>(given);
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;
  ~Memory() {
    if (mapped_ == nullptr) return;
    EXPECT_TRUE(ok(ncclMemFree(mapped_)));
  }
  std::int32_t* data() { return place_ == Place::plain ? plain_.data() : mapped_; }
  void fill(std::int32_t value) { std::fill_n(data(), count_, value); }

 private:
  Place place_;
  std::size_t count_;
  std::vector<std::int32_t> plain_;
  std::int32_t* mapped_ = nullptr;
};

class Lasting : public testing::TestWithParam<std::tuple<Place, Place>> {
 protected:
  // `call` on every rank, with an input of round * 10 + rank that is overwritten the moment the
  // call returns; then `expected(element, round)` lies in the first `received` elements.
  template <typename Call, typename Expected>
  void expect(std::size_t count, std::size_t received, Call call, Expected expected) {
    const auto [from, to] = GetParam();
    with_ranks(kWorld, [&, from = from, to = to](ncclComm_t comm, int rank) {
      Memory input(from, count), output(to, received);
      for (int round = 0; round < kRounds && !testing::Test::HasFailure(); ++round) {
        input.fill(round * 10 + rank);
        output.fill(-1);
        ASSERT_TRUE(ok(call(input.data(), output.data(), comm)));
        input.fill(-2);
        for (std::size_t i = 0; i < received; ++i) {
          ASSERT_EQ(output.data()[i], expected(i, round)) << "element " << i;
        }
      }
    });
  }
};

constexpr std::size_t kCounts[] = {2000, 9000, 40'000, kMost};

TEST_P(Lasting, AllGather) {
  for (const std::size_t count : kCounts) {
    expect(
        count, count * kWorld,
        [&](const void* input, void* output, ncclComm_t comm) {
          return ncclAllGather(input, output, count, ncclInt32, comm, nullptr);
        },
        [&](std::size_t i, int round) { return round * 10 + static_cast<int>(i / count); });
  }
}

TEST_P(Lasting, Broadcast) {
  for (const std::size_t count : kCounts) {
    expect(
        count, count,
        [&](const void* input, void* output, ncclComm_t comm) {
          return ncclBroadcast(input, output, count, ncclInt32, 1, comm, nullptr);
        },
        [&](std::size_t, int round) { return round * 10 + 1; });
  }
}

TEST_P(Lasting, AllReduce) {
  for (const std::size_t count : kCounts) {
    expect(
        count, count,
        [&](const void* input, void* output, ncclComm_t comm) {
          return ncclAllReduce(input, output, count, ncclInt32, ncclSum, comm, nullptr);
        },
        [&](std::size_t, int round) { return kWorld * round * 10 + 3; });
  }
}

INSTANTIATE_TEST_SUITE_P(, Lasting,
                         testing::Combine(testing::Values(Place::plain, Place::mapped),
                                          testing::Values(Place::plain, Place::mapped)));

}  // namespace
}  // namespace gyre::test
