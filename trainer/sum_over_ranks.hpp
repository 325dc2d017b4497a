// What the gradient exchange needs of a communicator.
#pragma once

#include <gyre/device.h>

#include <cstddef>

namespace gyre::train {

class SumOverRanks {
 public:
  virtual ~SumOverRanks() = default;
  // Queues on `stream`: data[count] becomes its sum over all ranks, on every rank, in place. All
  // ranks queue the same counts in the same order. Throws std::runtime_error.
  virtual void enqueue(float* data, std::size_t count, gyreStream_t stream) = 0;
};

}  // namespace gyre::train
