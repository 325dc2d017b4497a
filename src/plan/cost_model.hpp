// How long a schedule takes on the machines of a communicator, without running it: a few messages
// of it are simulated, and other sizes lie on lines between them.
#pragma once

#include <cstdint>
#include <map>
#include <tuple>
#include <vector>

#include "collectives/catalogue.hpp"
#include "plan/host_costs.hpp"
#include "plan/machine_facts.hpp"

namespace gyre {

// Pure: the same facts give the same times, to the last bit, on one build.
class CostModel {
 public:
  CostModel(MachineFacts machine, std::uint32_t ranks_per_host, std::uint32_t slots,
            const HostCosts& costs = usual_costs());

  // Of a call of `bytes`, as message_bytes() counts them, cut into slices of at most `slice_bytes`,
  // a multiple of entry.longest_run() lines. The root is rank 0.
  //
  // Beyond 16 ranks the schedule is simulated with about 8 and 16, and what doubling the ranks did
  // there to a tile's time and bytes is taken to go on: exact for whatever is a power of their
  // number, such as a ring's hops.
  double seconds(const CatalogueEntry& entry, std::uint64_t slice_bytes, std::uint64_t bytes);

 private:
  struct Point {
    double bytes, seconds;
  };
  using Curve = std::vector<Point>;
  // A world that is simulated.
  struct Scale {
    MachineFacts machine;
    std::uint32_t ranks_per_host;
  };

  const Curve& curve(const CatalogueEntry& entry, std::uint64_t slice_bytes);
  Curve simulated(const Scale& scale, const CatalogueEntry& entry, std::uint64_t slice_bytes) const;
  Curve extrapolated(const Curve& half, const Curve& whole) const;
  double sample(const Scale& scale, const CatalogueEntry& entry, std::uint64_t slice_bytes,
                std::uint64_t bytes) const;
  void add_smaller_worlds(const MachineFacts& machine, std::uint32_t ranks_per_host);

  std::uint32_t world_;
  std::uint32_t slots_;
  HostCosts costs_;
  bool in_memory_;             // all ranks share it
  std::vector<Scale> scales_;  // the world itself, or two smaller ones
  std::map<std::tuple<const CatalogueEntry*, std::uint64_t>, Curve> curves_;
};

}  // namespace gyre
