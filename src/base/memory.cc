#include "base/memory.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace gyre {

Mapping& Mapping::operator=(Mapping&& other) noexcept {
  if (this != &other) {
    if (base_ != nullptr) ::munmap(base_, bytes_);
    base_ = std::exchange(other.base_, nullptr);
    bytes_ = std::exchange(other.bytes_, 0);
  }
  return *this;
}

Mapping::~Mapping() {
  if (base_ != nullptr) ::munmap(base_, bytes_);
}

namespace {

Result<void*> map_private(std::size_t bytes, int flags) {
  void* base =
      ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  if (base == MAP_FAILED) return system_error(fmt::format("mmap of {} bytes", bytes), errno);
  return base;
}

}  // namespace

Result<Mapping> Mapping::anonymous(std::size_t bytes) {
  GYRE_TRY_ASSIGN(void* base, map_private(bytes, 0));
  // Advice only: first touch of 4 KiB pages costs many times more than of huge ones.
  ::madvise(base, bytes, MADV_HUGEPAGE);
  return Mapping(base, bytes);
}

Result<Mapping> Mapping::reserved(std::size_t bytes) {
  GYRE_TRY_ASSIGN(void* base, map_private(bytes, MAP_NORESERVE));
  return Mapping(base, bytes);
}

namespace {

// Whether the kernel may back the file with huge pages and maps exactly what it is asked for. (Of a
// file on hugetlbfs it maps whole huge pages: more than was reserved.)
bool is_ordinary_shared_memory(const Fd& file) {
  struct statfs info {};
  return ::fstatfs(file.get(), &info) == 0 && info.f_type == TMPFS_MAGIC;
}

// Address space that begins where a huge page of a file could be mapped from `offset` on; null if
// there is none, or no such page fits. The caller maps over all of it, `bytes` long.
void* reserve_for_huge_pages(const Fd& file, std::size_t bytes, std::uint64_t offset) {
  if (bytes < kHugePage || offset % kHugePage != 0 || !is_ordinary_shared_memory(file)) {
    return nullptr;
  }
  const std::size_t most = bytes + kHugePage;
  void* const reserved =
      ::mmap(nullptr, most, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (reserved == MAP_FAILED) return nullptr;
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved);
  const std::size_t before = round_up(begin, kHugePage) - begin;
  const std::size_t kept = round_up(bytes, page_size());
  std::byte* const base = static_cast<std::byte*>(reserved) + before;
  if (before > 0) ::munmap(reserved, before);
  ::munmap(base + kept, most - before - kept);
  return base;
}

}  // namespace

Result<Mapping> Mapping::shared(const Fd& segment, std::size_t bytes, std::uint64_t offset) {
  void* const place = reserve_for_huge_pages(segment, bytes, offset);
  const int flags = MAP_SHARED | (place != nullptr ? MAP_FIXED : 0);
  void* base = ::mmap(place, bytes, PROT_READ | PROT_WRITE, flags, segment.get(),
                      static_cast<off_t>(offset));
  if (base == MAP_FAILED) {
    // The reservation stays: whether it is still ours, or another thread's mapping by now, nobody
    // says.
    return system_error(fmt::format("mmap of a shared segment of {} bytes", bytes), errno);
  }
  ::madvise(base, bytes, MADV_HUGEPAGE);
  return Mapping(base, bytes);
}

void Mapping::commit_huge_pages() const {
  // Newer than some headers.
  constexpr int kPopulateRead = 22;  // MADV_POPULATE_READ, Linux 5.14
  constexpr int kCollapse = 25;      // MADV_COLLAPSE, Linux 6.1
  const auto base = reinterpret_cast<std::uintptr_t>(base_);
  const std::uintptr_t begin = round_up(base, kHugePage);
  const std::uintptr_t end = (base + bytes_) / kHugePage * kHugePage;
  if (begin >= end) return;
  // Of a range without any page the kernel makes none. Not by touching it: a fault that finds no
  // memory is a signal, this most often an error.
  for (std::uintptr_t at = begin; at < end; at += kHugePage) {
    if (::madvise(reinterpret_cast<void*>(at), page_size(), kPopulateRead) != 0) return;
  }
  ::madvise(reinterpret_cast<void*>(begin), end - begin, kCollapse);
}

Result<Fd> create_segment(std::size_t bytes) {
  Fd fd(::memfd_create("gyre", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd) return system_error("creating shared memory (memfd_create)", errno);
  if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
    return system_error(fmt::format("ftruncate of a shared segment to {} bytes", bytes), errno);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
    return system_error("sealing a shared segment", errno);
  }
  return fd;
}

Result<void> check_segment(const Fd& segment, std::size_t bytes) {
  struct stat info {};
  if (::fstat(segment.get(), &info) != 0) return system_error("fstat of a peer's segment", errno);
  const int seals = ::fcntl(segment.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    return Error{Status::system,
                 "a peer handed over a segment that is not sealed against shrinking"};
  }
  if (info.st_size < 0 || static_cast<std::size_t>(info.st_size) < bytes) {
    return Error{
        Status::system,
        fmt::format("a peer handed over a segment of {} bytes, {} expected", info.st_size, bytes)};
  }
  return {};
}

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

}  // namespace gyre
