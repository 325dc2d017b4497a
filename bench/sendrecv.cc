#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"

namespace gyre::bench {
namespace {

// A shift along the ring: each rank sends to the next and receives from the one before.
class SendRecv final : public Collective {
 public:
  bool names_ops() const override { return true; }  // as nccl-tests does
  bool checks_in_place() const override { return false; }
  void configure(ncclConfig_t& config) const override { config.maxP2pPeers = 2; }

  Counts counts(std::size_t total, std::size_t, int) const override {
    return {.send = total, .receive = total, .argument = total};
  }

  void launch(const Call& c, int) const override {
    const int next = (c.rank + 1) % c.ranks;
    const int previous = (c.rank + c.ranks - 1) % c.ranks;
    GroupScope group(c.nccl, true);
    c.nccl.check(c.nccl.send(c.send, c.count, c.type, next, c.comm, c.stream), "ncclSend");
    c.nccl.check(c.nccl.recv(c.receive, c.count, c.type, previous, c.comm, c.stream), "ncclRecv");
    group.end();
  }

  void input(const DataCase& d, std::byte* to) const override {
    fill_random({to, d.counts.send * d.element}, d.seed, static_cast<std::uint64_t>(d.rank), 0);
  }
  void expected(const DataCase& d, std::byte* to) const override {
    const int previous = (d.rank + d.ranks - 1) % d.ranks;
    fill_random({to, d.counts.receive * d.element}, d.seed, static_cast<std::uint64_t>(previous),
                0);
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int) const override {
    return bandwidth_of(static_cast<double>(bytes), seconds, 1);
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::SendRecv());
}
