#include "bench/harness/group.hpp"

namespace gyre::bench {
namespace {

class Alone : public ProcessGroup {
 public:
  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_rank() const override { return 0; }
  int local_size() const override { return 1; }
  std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return {mine.begin(), mine.end()};
  }
  void barrier() override {}
};

}  // namespace

std::unique_ptr<ProcessGroup> join_processes() { return std::make_unique<Alone>(); }

}  // namespace gyre::bench
