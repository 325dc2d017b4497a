#include "tests/collective/local_ranks.hpp"

#include <cstdlib>
#include <cstring>
#include <utility>

namespace gyre::test {
namespace {
constexpr std::size_t kGuard = 64;
constexpr unsigned char kCanary = 0xa5;
}  // namespace

Guarded::Guarded(std::size_t bytes, std::size_t offset, bool mapped)
    : bytes_(bytes), mapped_(mapped) {
  const std::size_t whole = bytes + 2 * kGuard + offset;
  if (mapped) {
    void* memory = nullptr;
    if (ncclMemAlloc(&memory, whole) != ncclSuccess) std::abort();
    base_ = static_cast<std::byte*>(memory);
  } else {
    base_ = static_cast<std::byte*>(std::malloc(whole));
  }
  data_ = base_ + kGuard + offset;
  std::memset(base_, kCanary, whole);
  std::memset(data_, 0xff, bytes);
}

Guarded::Guarded(Guarded&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      data_(other.data_),
      bytes_(other.bytes_),
      mapped_(other.mapped_) {}

Guarded::~Guarded() {
  if (base_ == nullptr) return;
  if (mapped_) {
    ncclMemFree(base_);
  } else {
    std::free(base_);
  }
}

bool Guarded::intact() const {
  for (std::size_t i = 0; i < kGuard; ++i) {
    if (data_[-1 - static_cast<std::ptrdiff_t>(i)] != std::byte{kCanary}) return false;
    if (data_[bytes_ + i] != std::byte{kCanary}) return false;
  }
  return true;
}

}  // namespace gyre::test
