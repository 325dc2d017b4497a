#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "bench/harness/failure.hpp"
#include "bench/harness/pattern.hpp"
#include "bench/harness/program.hpp"
#include "bench/harness/traffic.hpp"

namespace gyre::bench {
namespace {

// Counts and displacements of one rank, in elements, for all its peers.
struct Parts {
  std::vector<std::size_t> counts, displacements;

  void append(std::size_t count) {
    displacements.push_back(counts.empty() ? 0 : displacements.back() + counts.back());
    counts.push_back(count);
  }
};

class AlltoAllv final : public Collective {
 public:
  AlltoAllv() {
    try {
      traffic_ = Traffic::from_environment();
    } catch (const Failure& failure) {
      error_ = failure.what();
    }
    const char* summary = std::getenv("NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY");
    summarize_ = summary != nullptr && std::atoi(summary) != 0;
  }

  bool checks_in_place() const override { return false; }

  Counts counts(std::size_t total, std::size_t element, int ranks) const override {
    const std::size_t part =
        traffic_.is_generated() ? aligned_part(total, element, static_cast<std::size_t>(ranks)) : 0;
    const std::size_t bytes = total_bytes(part * element, ranks);
    std::size_t most_sent = 0;
    std::size_t most_received = 0;
    // A generated pattern looks the same from every rank.
    for (int rank = 0; rank < (traffic_.is_generated() ? 1 : ranks); ++rank) {
      most_sent = std::max(most_sent, traffic_.sent(rank, ranks, bytes));
      most_received = std::max(most_received, traffic_.received(rank, ranks, bytes));
    }
    return {.send = most_sent / element, .receive = most_received / element, .argument = part};
  }

  void launch(const Call& c, int) const override {
    const std::size_t total = total_bytes(c.count * c.element, c.ranks);
    Parts sends;
    Parts receives;
    for (int peer = 0; peer < c.ranks; ++peer) {
      sends.append(traffic_.bytes(c.rank, peer, c.ranks, total) / c.element);
      receives.append(traffic_.bytes(peer, c.rank, c.ranks, total) / c.element);
    }
    if (c.nccl.all_to_all_v != nullptr) {
      c.nccl.check(c.nccl.all_to_all_v(c.send, sends.counts.data(), sends.displacements.data(),
                                       c.receive, receives.counts.data(),
                                       receives.displacements.data(), c.type, c.comm, c.stream),
                   "ncclAlltoAllv");
    } else {
      launch_pairs(c, sends, receives);
    }
  }

  void input(const DataCase& d, std::byte* to) const override {
    fill_random({to, d.counts.send * d.element}, d.seed, static_cast<std::uint64_t>(d.rank), 0);
  }
  void expected(const DataCase& d, std::byte* to) const override {
    const std::size_t total = total_bytes(d.counts.argument * d.element, d.ranks);
    for (int peer = 0; peer < d.ranks; ++peer) {
      std::size_t before = 0;  // what the peer sends to ranks below this one
      for (int rank = 0; rank < d.rank; ++rank) {
        before += traffic_.bytes(peer, rank, d.ranks, total);
      }
      const std::size_t part = traffic_.bytes(peer, d.rank, d.ranks, total);
      fill_random({to, part}, d.seed, static_cast<std::uint64_t>(peer), before);
      to += part;
    }
  }

  Bandwidth bandwidth(std::size_t bytes, std::size_t element, double seconds,
                      int ranks) const override {
    const Counts c = counts(bytes / element * static_cast<std::size_t>(ranks), element, ranks);
    return bandwidth_of(static_cast<double>(std::max(c.send, c.receive) * element), seconds,
                        foreign_share(ranks));
  }

  Obstacle obstacle(std::size_t min_bytes, std::size_t max_bytes, int ranks) const override {
    if (!error_.empty()) return {error_, true};
    if (traffic_.is_generated()) return {};
    if (static_cast<std::size_t>(ranks) > traffic_.matrix_size()) {
      return {
          fmt::format("the traffic matrix has {} ranks, but {} run", traffic_.matrix_size(), ranks),
          true};
    }
    if (min_bytes != max_bytes) return {"a traffic matrix needs equal -b and -e", true};
    const Counts c = counts(0, 1, ranks);
    const std::size_t needed = std::max(c.send, c.receive);
    if (max_bytes < needed) {
      return {fmt::format("the traffic matrix needs -b and -e of at least {} bytes", needed), true};
    }
    return {};
  }

  std::string summary(std::size_t bytes, std::size_t, double seconds, int ranks) const override {
    if (!summarize_) return {};
    const std::size_t total = total_bytes(bytes, ranks);
    std::string text = fmt::format("# NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: {} time_usec={:.2f}\n",
                                   traffic_.describe(ranks, total), seconds * 1e6);
    for (int rank = 0; rank < ranks; ++rank) {
      const std::size_t sent = traffic_.sent(rank, ranks, total);
      const std::size_t received = traffic_.received(rank, ranks, total);
      const Bandwidth bandwidth = bandwidth_of(static_cast<double>(std::max(sent, received)),
                                               seconds, foreign_share(ranks));
      text += fmt::format("#   rank={} send_bytes={} recv_bytes={} alg_bw={:.2f} bus_bw={:.2f}\n",
                          rank, sent, received, bandwidth.algorithm / 1e9, bandwidth.bus / 1e9);
    }
    return text;
  }

 private:
  static std::size_t total_bytes(std::size_t part, int ranks) {
    return part * static_cast<std::size_t>(ranks);
  }

  // NCCL has no such function.
  static void launch_pairs(const Call& c, const Parts& sends, const Parts& receives) {
    const auto* send = static_cast<const std::byte*>(c.send);
    auto* receive = static_cast<std::byte*>(c.receive);
    GroupScope group(c.nccl, true);
    for (int peer = 0; peer < c.ranks; ++peer) {
      const auto i = static_cast<std::size_t>(peer);
      if (sends.counts[i] > 0) {
        c.nccl.check(c.nccl.send(send + sends.displacements[i] * c.element, sends.counts[i], c.type,
                                 peer, c.comm, c.stream),
                     "ncclSend");
      }
      if (receives.counts[i] > 0) {
        c.nccl.check(c.nccl.recv(receive + receives.displacements[i] * c.element,
                                 receives.counts[i], c.type, peer, c.comm, c.stream),
                     "ncclRecv");
      }
    }
    group.end();
  }

  Traffic traffic_ = Traffic::generated(1);
  std::string error_;
  bool summarize_ = false;
};

}  // namespace
}  // namespace gyre::bench

int main(int argc, char* argv[]) {
  return gyre::bench::run_program(argc, argv, gyre::bench::AlltoAllv());
}
