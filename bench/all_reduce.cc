#include "bench/harness/reducing.hpp"

namespace gyre::bench {
namespace {

class AllReduce final : public ReducingCollective {
 public:
  Counts counts(std::size_t total, std::size_t, int) const override {
    return {.send = total, .receive = total, .argument = total};
  }

  void launch(const Call& c, int) const override {
    c.nccl.check(c.nccl.all_reduce(c.send, c.receive, c.count, c.type, c.op, c.comm, c.stream),
                 "ncclAllReduce");
  }

  void expected(const DataCase& d, std::byte* to) const override {
    data_of(d).expected(to, 0, d.counts.receive);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes), seconds, 2 * foreign_share(ranks));
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::AllReduce());
}
