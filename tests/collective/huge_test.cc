// Calls past 2^31 and 2^32 bytes. 61 MiB of memory, mapped over and over, make a range of more than
// 4 GiB; 61 MiB divides no power of two, so that an offset cut to 31 or 32 bits shows as shifted
// data. Every output is a function of its position in the period alone, whichever pass wrote last.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

constexpr std::size_t kPeriod = std::size_t{61} << 20;
constexpr std::size_t kPast31 = (std::size_t{1} << 31) + 17;
constexpr std::size_t kPast32 = (std::size_t{1} << 32) + 5;
constexpr std::size_t kFloatsPast32 = (std::size_t{1} << 30) + 3;
constexpr std::size_t kSpan = (kPast32 / kPeriod + 3) * kPeriod;
constexpr int kWorld = 2;

// Small enough for exact sums of floats.
template <typename T>
T pattern(int rank, std::size_t index) {
  const std::uint64_t mixed = (index + 1) * 0x9e3779b97f4a7c15ULL;
  return static_cast<T>((mixed >> 40 & 0x3f) + static_cast<std::uint64_t>(rank) * 3);
}

class Periodic {
 public:
  Periodic() : fd_(::memfd_create("periodic", MFD_CLOEXEC)) {
    if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(kPeriod)) != 0) return;
    void* range =
        ::mmap(nullptr, kSpan, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (range == MAP_FAILED) return;
    base_ = static_cast<std::byte*>(range);
    for (std::size_t at = 0; at < kSpan; at += kPeriod) {
      if (::mmap(base_ + at, kPeriod, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_, 0) ==
          MAP_FAILED) {
        return;
      }
    }
    good_ = true;
  }
  ~Periodic() {
    if (base_ != nullptr) ::munmap(base_, kSpan);
    ::close(fd_);
  }
  Periodic(const Periodic&) = delete;
  Periodic& operator=(const Periodic&) = delete;

  bool good() const { return good_; }
  std::byte* data() const { return base_; }
  template <typename T>
  void fill(int rank) const {
    for (std::size_t i = 0; i < kPeriod / sizeof(T); ++i) put(i, pattern<T>(rank, i));
  }
  void clear() const { std::memset(base_, 0xee, kPeriod); }
  // Whether element i of the period is expected((i + shift) of the period), for all i.
  template <typename T, typename Expected>
  bool holds(std::size_t shift, Expected expected) const {
    constexpr std::size_t kElements = kPeriod / sizeof(T);
    for (std::size_t i = 0; i < kElements; ++i) {
      const T right = expected((i + shift) % kElements);
      if (std::memcmp(base_ + i * sizeof(T), &right, sizeof(T)) != 0) return false;
    }
    return true;
  }

 private:
  template <typename T>
  void put(std::size_t index, T value) const {
    std::memcpy(base_ + index * sizeof(T), &value, sizeof(T));
  }

  int fd_;
  std::byte* base_ = nullptr;
  bool good_ = false;
};

template <typename T>
T of_rank_0(std::size_t index) {
  return pattern<T>(0, index);
}
template <typename T>
T sum(std::size_t index) {
  return static_cast<T>(pattern<T>(0, index) + pattern<T>(1, index));
}

// In place: rank 0's pattern comes to be everywhere.
void move(const std::function<ncclResult_t(ncclComm_t, int rank, void*)>& call) {
  with_ranks(kWorld, [&](ncclComm_t comm, int rank) {
    const Periodic memory;
    ASSERT_TRUE(memory.good());
    rank == 0 ? memory.fill<std::uint8_t>(0) : memory.clear();
    EXPECT_TRUE(ok(call(comm, rank, memory.data())));
    EXPECT_TRUE(memory.holds<std::uint8_t>(0, of_rank_0<std::uint8_t>)) << "rank " << rank;
  });
}

// From one range to another. `shift(rank)`: which element of the calls' data this output begins at.
template <typename T>
void combine(const std::function<ncclResult_t(ncclComm_t, int rank, const void*, void*)>& call,
             const std::function<std::size_t(int)>& shift) {
  with_ranks(kWorld, [&](ncclComm_t comm, int rank) {
    const Periodic input;
    const Periodic output;
    ASSERT_TRUE(input.good() && output.good());
    input.fill<T>(rank);
    output.clear();
    EXPECT_TRUE(ok(call(comm, rank, input.data(), output.data())));
    EXPECT_TRUE(output.holds<T>(shift(rank), sum<T>)) << "rank " << rank;
  });
}

template <typename T>
void all_reduce(std::size_t count, ncclDataType_t type) {
  combine<T>(
      [=](ncclComm_t comm, int, const void* input, void* output) {
        return ncclAllReduce(input, output, count, type, ncclSum, comm, nullptr);
      },
      [](int) { return std::size_t{0}; });
}

void send_and_receive(std::size_t bytes) {
  move([bytes](ncclComm_t comm, int rank, void* memory) {
    return rank == 0 ? ncclSend(memory, bytes, ncclUint8, 1, comm, nullptr)
                     : ncclRecv(memory, bytes, ncclUint8, 0, comm, nullptr);
  });
}

TEST(Huge, SendAndReceivePast31Bits) { send_and_receive(kPast31); }
TEST(Huge, SendAndReceivePast32Bits) { send_and_receive(kPast32); }

TEST(Huge, BroadcastPast32Bits) {
  move([](ncclComm_t comm, int, void* memory) {
    return ncclBroadcast(memory, memory, kPast32, ncclInt8, 0, comm, nullptr);
  });
}

TEST(HugeSums, AllReducePast31Bits) { all_reduce<std::uint8_t>(kPast31, ncclUint8); }
TEST(HugeSums, AllReducePast32Bits) { all_reduce<std::uint8_t>(kPast32, ncclUint8); }
TEST(HugeSums, AllReduceOfFloatsPast32Bits) { all_reduce<float>(kFloatsPast32, ncclFloat32); }

// Each rank's block is past 2^31 bytes, and all of them past 2^32.
TEST(HugeSums, ReduceScatterPast32Bits) {
  combine<std::uint8_t>(
      [](ncclComm_t comm, int, const void* input, void* output) {
        return ncclReduceScatter(input, output, kPast31, ncclUint8, ncclSum, comm, nullptr);
      },
      [](int rank) { return static_cast<std::size_t>(rank) * kPast31; });
}

// Both ranks hold the same pattern and send their own part of it.
TEST(Huge, AllGatherPast32Bits) {
  with_ranks(kWorld, [](ncclComm_t comm, int rank) {
    const Periodic input;
    const Periodic output;
    ASSERT_TRUE(input.good() && output.good());
    input.fill<std::uint8_t>(0);
    output.clear();
    const std::byte* mine = input.data() + static_cast<std::size_t>(rank) * kPast31 % kPeriod;
    EXPECT_TRUE(ok(ncclAllGather(mine, output.data(), kPast31, ncclUint8, comm, nullptr)));
    EXPECT_TRUE(output.holds<std::uint8_t>(0, of_rank_0<std::uint8_t>)) << "rank " << rank;
  });
}

}  // namespace
}  // namespace gyre::test
