#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {
namespace {

class Broadcast final : public Collective {
 public:
  bool rooted() const override { return true; }

  Counts counts(std::size_t total, std::size_t, int) const override {
    return {.send = total, .receive = total, .argument = total};
  }

  void launch(const Call& c, int) const override {
    c.nccl.check(c.nccl.broadcast(c.send, c.receive, c.count, c.type, c.root, c.comm, c.stream),
                 "ncclBroadcast");
  }

  void input(const DataCase& d, std::byte* to) const override {
    if (d.rank == d.root) expected(d, to);
  }
  void expected(const DataCase& d, std::byte* to) const override {
    fill_random({to, d.counts.receive * d.element}, d.seed, 0, 0);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int) const override {
    return bandwidth_of(static_cast<double>(bytes), seconds, 1);
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::Broadcast());
}
