// What several cores together can copy and add.
#pragma once

#include <cstddef>
#include <memory>

#include "bench/limits/cores.hpp"

namespace gyre::limits {

struct MemoryRate {
  double copy_gbps = 0;  // bytes of c in c = a
  double sum_gbps = 0;   // bytes of c in c = a + b, floats
};

// Takes each repetition's arrays from the next place in larger ones, as nccl-tests and the *_perf
// programs do with their buffers: what does not fit the caches together comes from memory, however
// short the arrays of one repetition are.
class MemoryLimits {
 public:
  // `span`: bytes of each of the larger arrays.
  MemoryLimits(Cores cores, std::size_t span);
  ~MemoryLimits();
  MemoryLimits(const MemoryLimits&) = delete;
  MemoryLimits& operator=(const MemoryLimits&) = delete;

  // The best of what fits into `seconds`, for arrays of `bytes` each (at most the span), which the
  // cores share evenly.
  MemoryRate rate(std::size_t bytes, double seconds) const;

 private:
  struct Arrays;
  Cores cores_;
  std::unique_ptr<Arrays> arrays_;
};

}  // namespace gyre::limits
