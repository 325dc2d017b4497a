#include "bench/harness/gathering.hpp"

namespace gyre::bench {
namespace {

class AllGather final : public GatheringCollective {
 public:
  void launch(const Call& c, int) const override {
    c.nccl.check(c.nccl.all_gather(c.send, c.receive, c.count, c.type, c.comm, c.stream),
                 "ncclAllGather");
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * ranks, seconds, foreign_share(ranks));
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::AllGather());
}
