#include "tests/collective/local_ranks.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "tests/collective/rank_memory.hpp"

namespace gyre::test {
namespace {
constexpr std::size_t kGuard = 64;
constexpr unsigned char kCanary = 0xa5;

std::size_t page() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }
std::size_t round_up(std::size_t bytes) { return (bytes + page() - 1) / page() * page(); }
}  // namespace

Guarded::Guarded(std::size_t bytes, std::size_t offset, Memory memory)
    : bytes_(bytes), whole_(bytes + 2 * kGuard + offset), memory_(memory) {
  // There ncclMemAlloc gives memory of the device, as the mirror is.
  if (ranks_are_on_device()) memory_ = memory = Memory::plain;
  if (memory == Memory::mapped) {
    void* allocated = nullptr;
    if (ncclMemAlloc(&allocated, whole_) != ncclSuccess) std::abort();
    base_ = static_cast<std::byte*>(allocated);
  } else if (memory == Memory::edge) {
    whole_ = round_up(kGuard + bytes + offset);
    void* mapped = ::mmap(nullptr, whole_ + page(), PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) std::abort();
    base_ = static_cast<std::byte*>(mapped);
    ::mprotect(base_ + whole_, page(), PROT_NONE);
  } else {
    base_ = static_cast<std::byte*>(std::malloc(whole_));
  }
  data_ = memory == Memory::edge ? base_ + whole_ - offset - bytes : base_ + kGuard + offset;
  std::memset(base_, kCanary, whole_);
  std::memset(data_, 0xff, bytes);
  mirror_ = take_mirror(whole_);
}

Guarded::Guarded(Guarded&& other) noexcept
    : base_(std::exchange(other.base_, nullptr)),
      mirror_(std::exchange(other.mirror_, nullptr)),
      data_(other.data_),
      bytes_(other.bytes_),
      whole_(other.whole_),
      memory_(other.memory_) {}

Guarded::~Guarded() {
  if (base_ == nullptr) return;
  if (mirror_ != nullptr) give_mirror(mirror_, whole_);
  if (memory_ == Memory::mapped) {
    ncclMemFree(base_);
  } else if (memory_ == Memory::edge) {
    ::munmap(base_, whole_ + page());
  } else {
    std::free(base_);
  }
}

void Guarded::push() const {
  if (mirror_ != nullptr) test::push(mirror_, base_, whole_);
}

void Guarded::pull() const {
  if (mirror_ != nullptr) test::pull(base_, mirror_, whole_);
}

bool Guarded::intact() const {
  const auto canary = [](std::byte byte) { return byte == std::byte{kCanary}; };
  const std::byte* const first = data_;
  const std::byte* const last = data_ + bytes_;
  const std::byte* const end = std::min<const std::byte*>(last + kGuard, base_ + whole_);
  return std::all_of(first - kGuard, first, canary) && std::all_of(last, end, canary);
}

}  // namespace gyre::test
