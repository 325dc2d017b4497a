// The ranks that one thread of a test drives, and its buffers with guards.
#pragma once

#include <nccl.h>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace gyre::test {

struct LocalRank {
  int rank = 0;
  ncclComm_t comm = nullptr;
  cudaStream_t stream = nullptr;  // rank_stream()
};

struct LocalRanks {
  int world = 1;
  std::vector<LocalRank> ranks;  // more than one: driven together by group calls
};

enum class Memory {
  plain,
  mapped,  // from ncclMemAlloc, so that peers may read it in place
  edge     // ends where an unreadable page begins
};

// Memory with canaries on both sides, filled with 0xff (a NaN in every float type) at first.
// `offset` shifts the payload off its alignment, and away from an edge.
class Guarded {
 public:
  Guarded(std::size_t bytes, std::size_t offset, Memory memory);
  Guarded(Guarded&& other) noexcept;
  Guarded& operator=(Guarded&&) = delete;
  ~Guarded();
  std::byte* data() const { return data_; }
  // What calls are given for an address in data(): that, or its place in the device's memory ...
  std::byte* given(std::byte* at) const { return mirror_ == nullptr ? at : mirror_ + (at - base_); }
  // ... which is filled before the call, and read after it.
  void push() const;
  void pull() const;
  bool intact() const;

 private:
  std::byte* base_ = nullptr;
  std::byte* mirror_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t whole_ = 0;  // canaries included, the unreadable page not
  Memory memory_ = Memory::plain;
};

}  // namespace gyre::test
