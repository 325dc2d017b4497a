// Memory mappings that unmap themselves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "base/fd.hpp"
#include "base/status.hpp"

namespace gyre {

inline constexpr std::size_t kHugePage = std::size_t{2} << 20;

// A range of mapped memory. Movable; unmaps on destruction.
class Mapping {
 public:
  Mapping() = default;
  Mapping(Mapping&& other) noexcept
      : base_(std::exchange(other.base_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Mapping& operator=(Mapping&& other) noexcept;
  ~Mapping();

  // Private zeroed memory; huge pages where the kernel has them to give.
  static Result<Mapping> anonymous(std::size_t bytes);
  // The same, promised to nobody: for address space of which little is ever touched.
  static Result<Mapping> reserved(std::size_t bytes);
  // A shared segment, or the part of a file from `offset` on, which is a multiple of the page size.
  // Where shared memory is large enough, it lies so that huge pages of it can be mapped.
  static Result<Mapping> shared(const Fd& segment, std::size_t bytes, std::uint64_t offset = 0);

  // Memory for a fresh shared segment, now, in huge pages where that can be: also where the kernel
  // gives shared memory none by itself (shmem_enabled=never, the usual setting). Advice only.
  void commit_huge_pages() const;

  std::byte* data() const { return static_cast<std::byte*>(base_); }
  std::size_t size() const { return bytes_; }
  explicit operator bool() const { return base_ != nullptr; }

 private:
  Mapping(void* base, std::size_t bytes) : base_(base), bytes_(bytes) {}
  void* base_ = nullptr;
  std::size_t bytes_ = 0;
};

// A nameless shared segment (memfd), sealed against shrinking so that no peer can make us SIGBUS.
// It does not lie on /dev/shm and vanishes with its last descriptor and mapping.
Result<Fd> create_segment(std::size_t bytes);

// Checks a segment that a peer handed over: at least `bytes` long and sealed against shrinking.
Result<void> check_segment(const Fd& segment, std::size_t bytes);

std::size_t page_size();
inline std::size_t round_up(std::size_t value, std::size_t unit) {
  return (value + unit - 1) / unit * unit;
}

}  // namespace gyre
