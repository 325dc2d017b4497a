// A call of a rank whose kernels do not reach its peers: a thread of the host runs it as a rank on
// the host would, on copies of the buffers (src/comm/errands.hpp). This kernel stands in the stream
// between the copies: it tells the thread that the errand's turn has come, and waits for its end.
//
// It numbers errands as they come in the stream, so that a captured graph may be replayed. One
// block is at it at a time: calls of a communicator follow each other.
#pragma once

#include "kernels/device/waits.cuh"

namespace gyre::device {

// The first thread of one block. What was copied before is there to see when the errand is posted.
__device__ inline void run_errand(const Launch& launch) {
  Desk& desk = *launch.errand.desk;
  const std::uint64_t number = load_relaxed_system(&desk.posted) + 1;
  store_relaxed_system(&desk.errand, launch.errand.id);
  store_release_system(&desk.posted, number);
  // The thread has the deadline, and answers also after an abort: what it works on is used by the
  // stream until then.
  for (std::uint32_t spins = 1; load_acquire_system(&desk.done) != number; ++spins) {
    look_in_vain();
    if (spins % kSpinsPerLook == 0 && load_relaxed_system(&desk.closed) != 0) return;
  }
}

}  // namespace gyre::device
