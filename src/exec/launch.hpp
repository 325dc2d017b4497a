// Everything that one call, or one fused group of sends and receives, runs on one rank.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "exec/exchange_run.hpp"
#include "exec/local_lanes.hpp"
#include "exec/result_routes.hpp"
#include "exec/strand_run.hpp"

namespace gyre {

// Chains run concurrently; the strands of a chain run one after the other (messages to one peer,
// say). Reused from call to call so that a steady state allocates nothing.
class Launch {
 public:
  struct Chain {
    std::size_t next = 0;  // index of the strand at work
    std::size_t end = 0;
  };

  void clear() {
    recipe = 0;
    exchange.reset();
    local = {};
    route = nullptr;
    results = {};
    runs.clear();
    chains.clear();
  }
  // Opens a chain; add() appends strands to the newest one.
  void open_chain() { chains.push_back({runs.size(), runs.size()}); }
  void add(const Work& work) {
    runs.emplace_back(work);
    chains.back().end = runs.size();
  }

  // Everything again from the start, on other buffers and under another number. Only where each
  // chain has one strand.
  void restart(const std::byte* input, std::byte* output, CallStamp stamp) {
    if (exchange) return exchange->restart(input, output, stamp);
    local = {};
    results = {};
    for (std::size_t i = 0; i < runs.size(); ++i) {
      runs[i].restart(input, output, stamp);
      chains[i] = {i, i + 1};
    }
  }

  // The way of its results, where that is measured.
  void choose_way() {
    if (route == nullptr) return;
    way = route->next();
    for (StrandRun& run : runs) run.stream_results(way == ResultRoute::Way::past);
  }
  // It ended well.
  void tell_way() {
    if (route != nullptr) route->took(way, results.bytes, results.ticks);
  }

  std::uint64_t recipe = 0;  // PlannedCall::number of what it was made from; 0: anything else
  std::optional<ExchangeRun> exchange;  // alone, or absent
  LocalLanes local;                     // of a program's two strands
  ResultRoute* route = nullptr;         // of its results; null: not measured
  ResultRoute::Way way = ResultRoute::Way::through;
  ResultMeter results;
  std::vector<StrandRun> runs;
  std::vector<Chain> chains;
  Mapping scratch;  // of its program; kept for its memory
};

}  // namespace gyre
