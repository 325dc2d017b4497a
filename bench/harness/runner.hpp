// One measuring thread: warms up, times and checks every row of the table on its ranks.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "bench/harness/collective.hpp"
#include "bench/harness/data.hpp"
#include "bench/harness/output.hpp"
#include "bench/harness/ranks.hpp"
#include "bench/harness/team.hpp"
#include "bench/harness/types.hpp"
#include "bench/harness/watchdog.hpp"

namespace gyre::bench {

// What all threads share. References outlive the runners.
struct RunContext {
  const Options& options;
  const Layout& layout;
  const Library& nccl;
  const Collective& collective;
  Team& team;
};

struct Totals {
  double bus_gbps = 0;  // sum over measurements
  std::int64_t measurements = 0;
  std::int64_t wrong_runs = 0;  // checks of this thread that found wrong elements
};

class Runner {
 public:
  // `output` is null on every thread but the first of the first process.
  Runner(const RunContext& context, int thread, std::span<Rank> ranks, Watchdog& watchdog,
         Output* output);

  // Every type, operation and root that the options choose. Collective over all threads.
  Totals run();

 private:
  // What a row of the table is about.
  struct Row {
    TypeInfo type;
    OpInfo op;
    int root;
    std::size_t bytes;
    Counts counts;
  };
  struct Timing {
    double seconds = 0;      // until complete, per operation
    double cpu_seconds = 0;  // until issued, per operation
  };

  void run_case(const TypeInfo& type, const OpInfo& op, int root);
  Row make_row(const TypeInfo& type, const OpInfo& op, int root, std::size_t bytes) const;
  void warm_up(const TypeInfo& type, const OpInfo& op, int root);
  void run_row(const Row& row);
  void measure(const Row& row, bool in_place);

  void align();
  void choose_iterations(const Row& row, bool in_place);
  Timing time_iterations(const Row& row, bool in_place);
  void issue_iteration(const Row& row, bool in_place, int iteration);
  void issue(const Row& row, bool in_place, int iteration);
  void launch_on(Rank& rank, const Row& row, bool in_place, std::size_t shift, int stage);
  void complete();
  void wait();
  void poll();

  void make_events();  // before timing starts
  void record(std::size_t index);
  std::vector<double> iteration_times() const;

  std::int64_t check(const Row& row, bool in_place);
  void prepare(const Row& row, bool in_place, std::uint64_t seed, bool with_expected);
  DataCase data_case(const Row& row, const Rank& rank, std::uint64_t seed) const;
  Placement placement(const Row& row, bool in_place) const;

  const RunContext& context_;
  const Options& options_;
  const int thread_;
  const std::span<Rank> ranks_;
  Watchdog& watchdog_;
  Output* const output_;
  Totals totals_;
  int iterations_ = 0;  // of this measurement
  std::uint64_t checks_ = 0;
  std::string remarks_;
  std::vector<std::vector<Event>> events_;  // of each rank
};

}  // namespace gyre::bench
