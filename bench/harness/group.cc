#include "bench/harness/group.hpp"

#include <algorithm>

#include "bench/harness/failure.hpp"
#include "nccl.h"
// After nccl.h, which says what a stream is.
#include "gyre/gyre.hpp"

namespace gyre::bench {
namespace {

// Runs `call` and turns Gyre's exceptions into ours.
template <typename Call>
auto translated(Call&& call) {
  try {
    return call();
  } catch (const gyre::Failure& failure) {
    throw Failure(ExitCode::internal, failure.what());
  }
}

class LaunchedProcesses final : public ProcessGroup {
 public:
  int rank() const override { return group_.rank(); }
  int size() const override { return group_.size(); }
  int local_rank() const override { return group_.local_rank(); }
  int local_size() const override { return group_.local_size(); }

  std::vector<std::byte> all_gather(std::span<const std::byte> mine) override {
    return translated([&] {
      std::vector<std::byte> all(mine.size() * static_cast<std::size_t>(size()));
      auto to = all.begin();
      for (const auto& part : group_.all_gather(mine)) {
        if (part.size() != mine.size()) {
          throw Failure(ExitCode::internal, "the processes run with different options");
        }
        to = std::copy(part.begin(), part.end(), to);
      }
      return all;
    });
  }
  void barrier() override {
    translated([&] { group_.barrier(); });
  }

 private:
  gyre::ProcessGroup group_;
};

}  // namespace

std::unique_ptr<ProcessGroup> join_processes() {
  return translated([] { return std::make_unique<LaunchedProcesses>(); });
}

}  // namespace gyre::bench
