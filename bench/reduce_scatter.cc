#include "bench/harness/reducing.hpp"

namespace gyre::bench {
namespace {

class ReduceScatter final : public ReducingCollective {
 public:
  Counts counts(std::size_t total, std::size_t element, int ranks) const override {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t part = aligned_part(total, element, n);
    return {.send = part * n, .receive = part, .argument = part, .receive_in_place = part};
  }

  void launch(const Call& c, int) const override {
    c.nccl.check(c.nccl.reduce_scatter(c.send, c.receive, c.count, c.type, c.op, c.comm, c.stream),
                 "ncclReduceScatter");
  }

  void expected(const DataCase& d, std::byte* to) const override {
    const std::size_t first = static_cast<std::size_t>(d.rank) * d.counts.receive;
    data_of(d).expected(to, first, d.counts.receive);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * ranks, seconds, foreign_share(ranks));
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::ReduceScatter());
}
