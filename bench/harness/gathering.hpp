// What the collectives that gather have in common: each rank gives a part, and the parts of all
// ranks in order are the result.
#pragma once

#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {

class GatheringCollective : public Collective {
 public:
  Counts counts(std::size_t total, std::size_t element, int ranks) const final {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t part = aligned_part(total, element, n);
    return {.send = part, .receive = part * n, .argument = part, .send_in_place = part};
  }

  void input(const DataCase& d, std::byte* to) const final { write_part(d, to, d.rank); }
  void expected(const DataCase& d, std::byte* to) const override {
    const std::size_t part = d.counts.send * d.element;
    for (int rank = 0; rank < d.ranks; ++rank) {
      write_part(d, to + static_cast<std::size_t>(rank) * part, rank);
    }
  }

 private:
  static void write_part(const DataCase& d, std::byte* to, int rank) {
    fill_random({to, d.counts.send * d.element}, d.seed, static_cast<std::uint64_t>(rank), 0);
  }
};

}  // namespace gyre::bench
