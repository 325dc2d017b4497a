#include "trainer/gradient_sync.hpp"

#include <algorithm>
#include <chrono>

namespace gyre::train {

std::vector<Bucket> cut_into_buckets(std::size_t size, std::size_t bucket) {
  std::vector<Bucket> buckets;
  for (std::size_t end = size; end > 0;) {
    const std::size_t begin = end > bucket ? end - bucket : 0;
    buckets.push_back({begin, end});
    end = begin;
  }
  return buckets;
}

GradientSync::GradientSync(const Device& device, SumOverRanks& sum, std::span<float> gradients,
                           std::size_t bucket_bytes)
    : device_(device),
      sum_(sum),
      gradients_(gradients),
      buckets_(cut_into_buckets(gradients.size(),
                                std::max<std::size_t>(1, bucket_bytes / sizeof(float)))),
      stream_(device) {
  for (const Bucket& bucket : buckets_) {
    if (!device.is_host()) staging_.emplace_back(device, bucket.end - bucket.begin);
    begins_.emplace_back(device);
    ends_.emplace_back(device);
  }
}

void GradientSync::queue(std::size_t index) {
  const Bucket bucket = buckets_[index];
  const std::size_t count = bucket.end - bucket.begin;
  float* data = gradients_.data() + bucket.begin;
  begins_[index].record(stream_);
  if (device_.is_host()) {
    sum_.enqueue(data, count, stream_.handle());
  } else {
    float* staged = staging_[index].data();
    const std::size_t bytes = count * sizeof(float);
    require(gyreDeviceCopyAsync(device_.handle(), staged, data, bytes, stream_.handle()));
    sum_.enqueue(staged, count, stream_.handle());
    require(gyreDeviceCopyAsync(device_.handle(), data, staged, bytes, stream_.handle()));
  }
  ends_[index].record(stream_);
}

void GradientSync::final_from(std::size_t offset) {
  while (queued_ < buckets_.size() && buckets_[queued_].begin >= offset) queue(queued_++);
}

void GradientSync::finish() {
  final_from(0);
  const auto begin = std::chrono::steady_clock::now();
  stream_.synchronize();
  waited_ms_ =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  busy_ms_ = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    busy_ms_ += static_cast<double>(ends_[i].ms_since(begins_[i]));
  }
  queued_ = 0;
}

}  // namespace gyre::train
