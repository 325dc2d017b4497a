// Data parallelism: the sum of all ranks' gradients, bucket by bucket, while the backward pass
// runs.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "trainer/device.hpp"
#include "trainer/sum_over_ranks.hpp"

namespace gyre::train {

// A range of the gradient array that is summed by one call.
struct Bucket {
  std::size_t begin, end;
};
// Cuts [0, size) from its end (what the backward pass finishes first) into buckets of `bucket`
// elements; the last one holds what is left.
std::vector<Bucket> cut_into_buckets(std::size_t size, std::size_t bucket);

class GradientSync {
 public:
  // `gradients` is summed in place, and must stay where it is. On a device other than the host the
  // buckets pass through device memory.
  GradientSync(const Device& device, SumOverRanks& sum, std::span<float> gradients,
               std::size_t bucket_bytes);

  // Gradients from `offset` to the end are final: queues the buckets that are complete now.
  void final_from(std::size_t offset);
  // Waits until all buckets are summed; makes ready for the next step.
  void finish();

  // Of the latest step: how long the communication stream was at it, and how much of that the
  // training had to wait for.
  double busy_ms() const { return busy_ms_; }
  double waited_ms() const { return waited_ms_; }

 private:
  void queue(std::size_t index);

  const Device& device_;
  SumOverRanks& sum_;
  std::span<float> gradients_;
  std::vector<Bucket> buckets_;
  std::size_t queued_ = 0;
  std::vector<DeviceFloats> staging_;  // of each bucket; none on the host
  std::vector<Event> begins_, ends_;
  double busy_ms_ = 0, waited_ms_ = 0;
  Stream stream_;  // last: its destructor finishes work that uses the rest
};

}  // namespace gyre::train
