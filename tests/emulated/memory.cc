#include "tests/emulated/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <random>

namespace gyre::emulated {
namespace {

constexpr std::size_t kReach = std::size_t{64} << 30;  // of addresses; memory is taken when touched
constexpr std::size_t kPage = 64 << 10;                // a multiple of what any system has
constexpr std::size_t kAlignment = 256;

std::size_t round_up(std::size_t bytes, std::size_t to) { return (bytes + to - 1) / to * to; }

Error system_error(const char* what) {
  return Error{Status::system, fmt::format("{}: {}", what, std::strerror(errno))};
}

}  // namespace

Ranges& Ranges::of_process() {
  static Ranges& all = *new Ranges;  // never destroyed: threads may be at work at the end
  return all;
}

void Ranges::add(Range range) {
  const std::lock_guard lock(mutex_);
  range.number = ++made_;
  by_base_[range.base] = range;
}

std::optional<Range> Ranges::remove(const void* base) {
  const std::lock_guard lock(mutex_);
  const auto found = by_base_.find(static_cast<const std::byte*>(base));
  if (found == by_base_.end()) return std::nullopt;
  const Range range = found->second;
  by_base_.erase(found);
  return range;
}

std::optional<Range> Ranges::find(const void* inside) const {
  const auto* const pointer = static_cast<const std::byte*>(inside);
  const std::lock_guard lock(mutex_);
  auto found = by_base_.upper_bound(pointer);
  if (found == by_base_.begin()) return std::nullopt;
  const Range& range = (--found)->second;
  if (pointer >= range.base + range.bytes) return std::nullopt;
  return range;
}

Result<Heap*> Heap::make() {
  auto heap = std::make_unique<Heap>();
  heap->file_ = ::memfd_create("emulated device", MFD_CLOEXEC);
  if (heap->file_ < 0) return system_error("memfd_create");
  if (::ftruncate(heap->file_, static_cast<off_t>(kReach)) != 0) return system_error("ftruncate");
  void* const mapped =
      ::mmap(nullptr, kReach, PROT_NONE, MAP_SHARED | MAP_NORESERVE, heap->file_, 0);
  if (mapped == MAP_FAILED) return system_error("mmap");
  heap->base_ = static_cast<std::byte*>(mapped);
  std::random_device random;
  heap->token_ = std::uint64_t{random()} << 32 | random();
  if (::pwrite(heap->file_, &heap->token_, sizeof heap->token_, 0) != sizeof heap->token_) {
    return system_error("pwrite");
  }
  heap->taken_[0] = {0, kPage};
  return heap.release();
}

Result<Heap*> Heap::of_process() {
  static const Result<Heap*> heap = make();
  return heap;
}

Result<std::byte*> Heap::take(std::size_t bytes) {
  const std::size_t whole = round_up(bytes, kAlignment);
  if (whole < bytes || whole > kReach / 2) {
    return Error{Status::system, fmt::format("an emulated device has no {} bytes", bytes)};
  }
  const std::size_t length = round_up(whole, kPage) + kPage;
  const std::lock_guard lock(mutex_);
  std::size_t begin = 0;  // the first gap that is long enough
  for (const auto& [at, span] : taken_) {
    if (span.begin >= begin + length) break;
    begin = span.end;
  }
  const std::size_t end = begin + length;
  if (end > kReach) {
    return Error{Status::system, fmt::format("an emulated device has no {} bytes left", bytes)};
  }
  if (::mprotect(base_ + begin, length - kPage, PROT_READ | PROT_WRITE) != 0) {
    return system_error("mprotect");
  }
  const std::size_t at = end - kPage - whole;
  taken_[at] = {begin, end};
  std::memset(base_ + at, kPattern, whole);
  return base_ + at;
}

void Heap::give(std::byte* pointer) {
  const std::lock_guard lock(mutex_);
  const auto found = taken_.find(offset_of(pointer));
  if (found == taken_.end()) return;
  const Span span = found->second;
  const std::size_t length = span.end - span.begin;
  ::mprotect(base_ + span.begin, length, PROT_NONE);
  ::fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(span.begin),
              static_cast<off_t>(length));
  taken_.erase(found);
}

std::uint64_t Heap::offset_of(const std::byte* pointer) const {
  return static_cast<std::uint64_t>(pointer - base_);
}

}  // namespace gyre::emulated
