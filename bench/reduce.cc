#include "bench/harness/reducing.hpp"

namespace gyre::bench {
namespace {

class Reduce final : public ReducingCollective {
 public:
  bool rooted() const override { return true; }

  Counts counts(std::size_t total, std::size_t, int) const override {
    return {.send = total, .receive = total, .argument = total};
  }

  void launch(const Call& c, int) const override {
    c.nccl.check(c.nccl.reduce(c.send, c.receive, c.count, c.type, c.op, c.root, c.comm, c.stream),
                 "ncclReduce");
  }

  // Off the root the receive buffer must be left alone.
  void expected(const DataCase& d, std::byte* to) const override {
    if (d.rank == d.root) data_of(d).expected(to, 0, d.counts.receive);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int) const override {
    return bandwidth_of(static_cast<double>(bytes), seconds, 1);
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::Reduce());
}
