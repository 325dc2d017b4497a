#include "bench/harness/gathering.hpp"

namespace gyre::bench {
namespace {

class Gather final : public GatheringCollective {
 public:
  bool rooted() const override { return true; }

  void launch(const Call& c, int) const override {
    if (c.count == 0) return;
    if (c.nccl.gather != nullptr) {
      c.nccl.check(c.nccl.gather(c.send, c.receive, c.count, c.type, c.root, c.comm, c.stream),
                   "ncclGather");
    } else {
      launch_pairs(c);
    }
  }

  // Off the root the receive buffer must be left alone.
  void expected(const DataCase& d, std::byte* to) const override {
    if (d.rank == d.root) GatheringCollective::expected(d, to);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * ranks, seconds, foreign_share(ranks));
  }

 private:
  // For libraries from before 2.28.
  static void launch_pairs(const Call& c) {
    auto* receive = static_cast<std::byte*>(c.receive);
    GroupScope group(c.nccl, true);
    c.nccl.check(c.nccl.send(c.send, c.count, c.type, c.root, c.comm, c.stream), "ncclSend");
    for (int peer = 0; c.rank == c.root && peer < c.ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * c.count * c.element;
      c.nccl.check(c.nccl.recv(receive + at, c.count, c.type, peer, c.comm, c.stream), "ncclRecv");
    }
    group.end();
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::Gather());
}
