#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {
namespace {

class AllGather final : public Collective {
 public:
  Counts counts(std::size_t total, std::size_t element, int ranks) const override {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t part = aligned_part(total, element, n);
    return {.send = part, .receive = part * n, .argument = part, .send_in_place = part};
  }

  void launch(const Call& c, int) const override {
    c.nccl.check(c.nccl.all_gather(c.send, c.receive, c.count, c.type, c.comm, c.stream),
                 "ncclAllGather");
  }

  void input(const DataCase& d, std::byte* to) const override { write_part(d, to, d.rank); }
  void expected(const DataCase& d, std::byte* to) const override {
    const std::size_t part = d.counts.send * d.element;
    for (int rank = 0; rank < d.ranks; ++rank) {
      write_part(d, to + static_cast<std::size_t>(rank) * part, rank);
    }
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * ranks, seconds, foreign_share(ranks));
  }

 private:
  static void write_part(const DataCase& d, std::byte* to, int rank) {
    fill_random({to, d.counts.send * d.element}, d.seed, static_cast<std::uint64_t>(rank), 0);
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::AllGather());
}
