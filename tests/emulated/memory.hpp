// Device memory is a range of one memory file of the process, so that other processes can map parts
// of it. Every allocation ends where an unreadable page begins, and starts out full of a pattern:
// kernels that reach too far, or count on zeros, fail here.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

#include "base/status.hpp"
#include "gyre/plugin.h"

namespace gyre::emulated {

inline constexpr int kPattern = 0xd5;

// An allocation, or memory that was registered or imported.
struct Range {
  std::byte* base = nullptr;
  std::size_t bytes = 0;
  gyrePointerKind kind = gyrePointerUnknown;
  int ordinal = 0;
  std::uint64_t number = 0;
};

// What this process knows of its memory.
class Ranges {
 public:
  static Ranges& of_process();
  void add(Range range);
  // Takes the one that begins there out.
  std::optional<Range> remove(const void* base);
  std::optional<Range> find(const void* inside) const;

 private:
  mutable std::mutex mutex_;
  std::map<const std::byte*, Range> by_base_;
  std::uint64_t made_ = 0;
};

// The file, and where it is mapped.
class Heap {
 public:
  // Fails where the system gives no such file.
  static Result<Heap*> of_process();
  Result<std::byte*> take(std::size_t bytes);
  void give(std::byte* pointer);

  int file() const { return file_; }
  std::uint64_t token() const { return token_; }  // the file's first bytes: it alone has them
  std::uint64_t offset_of(const std::byte* pointer) const;

 private:
  static Result<Heap*> make();

  struct Span {
    std::size_t begin, end;  // the unreadable page included
  };
  std::mutex mutex_;
  int file_ = -1;
  std::uint64_t token_ = 0;
  std::byte* base_ = nullptr;
  std::map<std::size_t, Span> taken_;  // by where the caller's part begins
};

}  // namespace gyre::emulated
