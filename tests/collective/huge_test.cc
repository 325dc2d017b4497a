// Calls past 2^31 and 2^32 bytes. 61 MiB of memory, mapped over and over, make a range of more than
// 4 GiB; 61 MiB divides no power of two, so that an offset cut to 31 or 32 bits shows as shifted
// data.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "tests/collective/ranks.hpp"

namespace gyre::test {
namespace {

constexpr std::size_t kPeriod = std::size_t{61} << 20;
constexpr std::size_t kPast31 = (std::size_t{1} << 31) + 17;
constexpr std::size_t kPast32 = (std::size_t{1} << 32) + 5;
constexpr std::size_t kSpan = (kPast32 + kPeriod) / kPeriod * kPeriod;

std::uint64_t pattern(std::size_t word) {
  std::uint64_t x = (word + 1) * 0x9e3779b97f4a7c15ULL;
  return x ^ (x >> 29);
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
  void fill() const {
    for (std::size_t word = 0; word < kPeriod / 8; ++word) {
      const std::uint64_t value = pattern(word);
      std::memcpy(base_ + word * 8, &value, 8);
    }
  }
  void clear() const { std::memset(base_, 0xee, kPeriod); }
  // A call of `bytes` wrote the last full period last; the few bytes beyond hold the same pattern.
  bool holds_pattern() const {
    for (std::size_t word = 0; word < kPeriod / 8; ++word) {
      const std::uint64_t value = pattern(word);
      if (std::memcmp(base_ + word * 8, &value, 8) != 0) return false;
    }
    return true;
  }

 private:
  int fd_;
  std::byte* base_ = nullptr;
  bool good_ = false;
};

void with_ranges(const std::function<void(ncclComm_t, int, const Periodic&)>& body) {
  with_ranks(2, [&](ncclComm_t comm, int rank) {
    const Periodic memory;
    ASSERT_TRUE(memory.good());
    rank == 0 ? memory.fill() : memory.clear();
    body(comm, rank, memory);
    EXPECT_TRUE(memory.holds_pattern()) << "rank " << rank;
  });
}

void send_and_receive(std::size_t bytes) {
  with_ranges([bytes](ncclComm_t comm, int rank, const Periodic& memory) {
    const ncclResult_t result = rank == 0
                                    ? ncclSend(memory.data(), bytes, ncclUint8, 1, comm, nullptr)
                                    : ncclRecv(memory.data(), bytes, ncclUint8, 0, comm, nullptr);
    EXPECT_TRUE(ok(result));
  });
}

TEST(Huge, SendAndReceivePast31Bits) { send_and_receive(kPast31); }
TEST(Huge, SendAndReceivePast32Bits) { send_and_receive(kPast32); }

TEST(Huge, BroadcastPast32Bits) {
  with_ranges([](ncclComm_t comm, int, const Periodic& memory) {
    EXPECT_TRUE(
        ok(ncclBroadcast(memory.data(), memory.data(), kPast32, ncclInt8, 0, comm, nullptr)));
  });
}

}  // namespace
}  // namespace gyre::test
