// What the collectives that reduce have in common: inputs whose reduction is known exactly.
#pragma once

#include "bench/harness/inputs.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {

class ReducingCollective : public Collective {
 public:
  bool reduces() const final { return true; }
  void input(const DataCase& d, std::byte* to) const final {
    data_of(d).input(to, 0, d.counts.send, d.rank);
  }

 protected:
  static ReductionData data_of(const DataCase& d) {
    return {d.type, d.op, d.ranks, d.seed, d.denormals};
  }
};

}  // namespace gyre::bench
