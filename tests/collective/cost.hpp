// What a stretch of code costs the thread that runs it: allocations and page faults. The program's
// own malloc and its kin count, so that those of the libraries it loads are seen too.
#pragma once

#include <cstdint>

namespace gyre::test {

struct Cost {
  std::uint64_t allocations = 0;
  std::uint64_t faults = 0;
};

// Counts what the calling thread does, until stop().
class CostMeter {
 public:
  CostMeter();
  Cost stop();

 private:
  std::uint64_t faults_before_;
};

}  // namespace gyre::test
