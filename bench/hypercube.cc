#include <algorithm>
#include <bit>
#include <string>

#include "bench/harness/gathering.hpp"

namespace gyre::bench {
namespace {

// All-gather by send and receive: in stage k each rank swaps all it has with the rank whose number
// differs in bit k.
class HyperCube final : public GatheringCollective {
 public:
  std::string_view op_label() const override { return ""; }

  // One rank needs a stage too: it copies its part.
  int stages(int ranks) const override {
    return std::max(1, static_cast<int>(std::bit_width(static_cast<unsigned>(ranks))) - 1);
  }

  void launch(const Call& c, int stage) const override {
    auto* receive = static_cast<std::byte*>(c.receive);
    const std::size_t part = c.count * c.element;
    if (stage == 0) {
      std::byte* own = receive + static_cast<std::size_t>(c.rank) * part;
      if (own != c.send) c.device.copy_async(own, c.send, part);
    }
    if (c.ranks == 1) return;
    const int bit = 1 << stage;
    const int have = c.rank & ~(bit - 1);  // first of the parts that this rank holds by now
    const int get = have ^ bit;
    const std::size_t count = c.count << stage;
    GroupScope group(c.nccl, true);
    c.nccl.check(c.nccl.send(receive + static_cast<std::size_t>(have) * part, count, c.type,
                             c.rank ^ bit, c.comm, c.stream),
                 "ncclSend");
    c.nccl.check(c.nccl.recv(receive + static_cast<std::size_t>(get) * part, count, c.type,
                             c.rank ^ bit, c.comm, c.stream),
                 "ncclRecv");
    group.end();
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    return bandwidth_of(static_cast<double>(bytes) * (ranks - 1), seconds, 1);
  }

  Obstacle obstacle(std::size_t, std::size_t, int ranks) const override {
    if (std::has_single_bit(static_cast<unsigned>(ranks))) return {};
    return {"nRanks " + std::to_string(ranks) + " is not a power of 2, skipping", false};
  }
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::HyperCube());
}
