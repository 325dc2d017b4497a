#include "base/fd.hpp"

#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>

namespace gyre {
namespace {

// One bit per descriptor number; lock-free so that the fork handler may walk it. Descriptors above
// the range are not recorded: RLIMIT_NOFILE is practically never above 2^20.
constexpr int kMaxDescriptor = 1 << 20;
std::array<std::atomic<std::uint64_t>, kMaxDescriptor / 64> open_bits;

std::uint64_t bit(int fd) { return std::uint64_t{1} << (fd % 64); }

void record(int fd) {
  if (fd >= 0 && fd < kMaxDescriptor) {
    open_bits[static_cast<std::size_t>(fd / 64)].fetch_or(bit(fd), std::memory_order_relaxed);
  }
}

// Whether `fd` was still recorded: in a forked child it is not, and must not be closed again, since
// the child may have been given the same number for a file of its own.
bool forget(int fd) {
  if (fd < 0 || fd >= kMaxDescriptor) return true;
  const std::uint64_t before =
      open_bits[static_cast<std::size_t>(fd / 64)].fetch_and(~bit(fd), std::memory_order_relaxed);
  return (before & bit(fd)) != 0;
}

}  // namespace

Fd::Fd(int fd) : fd_(fd) { record(fd); }

void Fd::reset() {
  if (fd_ < 0) return;
  if (forget(fd_)) ::close(fd_);
  fd_ = -1;
}

void close_all_descriptors_in_child() {
  for (std::size_t word = 0; word < open_bits.size(); ++word) {
    std::uint64_t bits = open_bits[word].exchange(0, std::memory_order_relaxed);
    while (bits != 0) {
      ::close(static_cast<int>(word) * 64 + __builtin_ctzll(bits));
      bits &= bits - 1;
    }
  }
}

}  // namespace gyre
