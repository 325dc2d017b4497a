#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {
namespace {

class AlltoAll final : public Collective {
 public:
  bool checks_in_place() const override { return false; }

  Counts counts(std::size_t total, std::size_t element, int ranks) const override {
    const auto n = static_cast<std::size_t>(ranks);
    const std::size_t part = aligned_part(total, element, n);
    return {.send = part * n, .receive = part * n, .argument = part};
  }

  void launch(const Call& c, int) const override {
    if (c.nccl.all_to_all != nullptr) {
      c.nccl.check(c.nccl.all_to_all(c.send, c.receive, c.count, c.type, c.comm, c.stream),
                   "ncclAlltoAll");
    } else {
      launch_pairs(c);
    }
  }

  void input(const DataCase& d, std::byte* to) const override {
    fill_random({to, d.counts.send * d.element}, d.seed, static_cast<std::uint64_t>(d.rank), 0);
  }
  void expected(const DataCase& d, std::byte* to) const override {
    const std::size_t part = d.counts.argument * d.element;
    for (int peer = 0; peer < d.ranks; ++peer) {
      fill_random({to + static_cast<std::size_t>(peer) * part, part}, d.seed,
                  static_cast<std::uint64_t>(peer), static_cast<std::size_t>(d.rank) * part);
    }
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * ranks, seconds, foreign_share(ranks));
  }

 private:
  // For libraries from before 2.28.
  static void launch_pairs(const Call& c) {
    const auto* send = static_cast<const std::byte*>(c.send);
    auto* receive = static_cast<std::byte*>(c.receive);
    GroupScope group(c.nccl, true);
    for (int peer = 0; peer < c.ranks; ++peer) {
      const std::size_t at = static_cast<std::size_t>(peer) * c.count * c.element;
      c.nccl.check(c.nccl.send(send + at, c.count, c.type, peer, c.comm, c.stream), "ncclSend");
      c.nccl.check(c.nccl.recv(receive + at, c.count, c.type, peer, c.comm, c.stream), "ncclRecv");
    }
    group.end();
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::AlltoAll());
}
