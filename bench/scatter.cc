#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {
namespace {

class Scatter final : public Collective {
 public:
  bool rooted() const override { return true; }

  Counts counts(std::size_t total, std::size_t element, int ranks) const override {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t part = aligned_part(total, element, n);
    return {.send = part * n, .receive = part, .argument = part, .receive_in_place = part};
  }

  void launch(const Call& c, int) const override {
    if (c.count == 0) return;
    if (c.nccl.scatter != nullptr) {
      c.nccl.check(c.nccl.scatter(c.send, c.receive, c.count, c.type, c.root, c.comm, c.stream),
                   "ncclScatter");
    } else {
      launch_pairs(c);
    }
  }

  void input(const DataCase& d, std::byte* to) const override {
    if (d.rank == d.root) fill_random({to, d.counts.send * d.element}, d.seed, 0, 0);
  }
  void expected(const DataCase& d, std::byte* to) const override {
    const std::size_t part = d.counts.receive * d.element;
    fill_random({to, part}, d.seed, 0, static_cast<std::size_t>(d.rank) * part);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * ranks, seconds, foreign_share(ranks));
  }

 private:
  // For libraries from before 2.28.
  static void launch_pairs(const Call& c) {
    const auto* send = static_cast<const std::byte*>(c.send);
    GroupScope group(c.nccl, true);
    for (int peer = 0; c.rank == c.root && peer < c.ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * c.count * c.element;
      c.nccl.check(c.nccl.send(send + at, c.count, c.type, peer, c.comm, c.stream), "ncclSend");
    }
    c.nccl.check(c.nccl.recv(c.receive, c.count, c.type, c.root, c.comm, c.stream), "ncclRecv");
    group.end();
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::Scatter());
}
