// What a simulated call did, and when. Times are seconds from its start.
#pragma once

#include <cstdint>
#include <vector>

namespace gyre::sim {

struct RankTimes {
  double finish = 0;  // the end of its last step
  double busy = 0;    // in steps, of all its strands together
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
};

struct LinkUse {
  double bytes = 0;  // of cores: seconds of work
  double peak = 0;   // the largest sum of rates
};

// One step at work.
struct StepSpan {
  std::uint32_t rank = 0;
  std::uint32_t strand = 0;
  std::uint32_t loop = 0;
  std::uint32_t trip = 0;
  std::uint64_t tile = 0;
  std::uint64_t bytes = 0;
  std::uint32_t received = 0;  // messages
  std::uint32_t sent = 0;
  bool reduces = false;
  bool stores = false;
  double begin = 0;  // all it needs is there
  double end = 0;
};

// One message.
struct Flight {
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::uint64_t tile = 0;
  std::uint64_t bytes = 0;
  double sent = 0;  // the end of the sender's step
  double arrived = 0;
};

struct Timeline {
  double seconds = 0;  // until the last rank is done
  std::uint64_t steps = 0;
  std::uint64_t messages = 0;
  std::vector<RankTimes> ranks;
  std::vector<LinkUse> links;  // as in the fabric

  // With Options::record only: in the order in which they were worked out, not that of time.
  std::vector<StepSpan> spans;
  std::vector<Flight> flights;
};

}  // namespace gyre::sim
