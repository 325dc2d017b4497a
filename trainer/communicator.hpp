// The ranks' communicator, through the portable names of gyre/comm.h.
#pragma once

#include <gyre/comm.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "trainer/sum_over_ranks.hpp"

namespace gyre::train {

// How a sum over ranks is grouped.
enum class SumOrder : std::uint8_t {
  library,   // one all-reduce: whatever order the library takes
  pairwise,  // a binary tree over neighbouring ranks, for worlds of a power of two: log2(world)
             // all-reduces among two ranks each, whose two-term sums have only one grouping
};

class Communicator final : public SumOverRanks {
 public:
  // Collective over all ranks.
  Communicator(const COMM_ID& id, int rank, int world, SumOrder order);
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;
  // Destroys the communicators; after an error it aborts them, which waits for nobody.
  ~Communicator() override;

  void enqueue(float* data, std::size_t count, gyreStream_t stream) override;

 private:
  void require(COMM_RESULT_T result, COMM_T comm);

  COMM_T all_ = nullptr;
  std::vector<COMM_T> pairs_;  // [k]: this rank and the one whose number differs in bit k
  bool failed_ = false;
};

}  // namespace gyre::train
