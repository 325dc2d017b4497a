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
  bool intact() const;

 private:
  std::byte* base_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
  std::size_t whole_ = 0;  // canaries included, the unreadable page not
  Memory memory_ = Memory::plain;
};

}  // namespace gyre::test
