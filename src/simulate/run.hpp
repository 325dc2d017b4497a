// One simulated run: all strands, their lanes, and the network that they share.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "schedule/cursor.hpp"
#include "simulate/lanes.hpp"
#include "simulate/machine.hpp"
#include "simulate/message.hpp"
#include "simulate/network.hpp"
#include "simulate/recorder.hpp"
#include "simulate/timeline.hpp"

namespace gyre::sim {

class Run {
 public:
  // `lanes` are those of `ranks`. All three outlive the run.
  Run(std::span<const RankProgram> ranks, Lanes& lanes, const Machine& machine,
      const Message& message, bool record);

  // Once. Error: a deadlock, or messages that nobody takes.
  Result<Timeline> run();

 private:
  struct Strand {
    Cursor cursor;
    std::uint32_t rank = 0;
    std::uint32_t index = 0;        // among its rank's
    std::uint32_t missing = 0;      // ends of lanes that its step waits for
    std::uint32_t cores = kNobody;  // its flow, if it shares cores
    double free_at = 0;
    double begin = 0;  // of the step at work on shared cores
  };
  // What a step moves.
  struct Load {
    std::uint64_t bytes = 0;
    double work = 0;
  };

  void add_strands();
  Result<void> add_flows();
  Result<void> add_flow_of_cores(std::uint32_t rank);
  void wake(std::uint32_t strand, bool& awaited);
  void drain();
  void advance(std::uint32_t number);
  bool find_lanes(Strand& strand, const ResolvedStep& step);
  bool has_message(Strand& strand, std::uint32_t lane);
  bool has_slot(Strand& strand, std::uint32_t lane);
  std::uint64_t bytes_of(const Program& program, Side side, std::int32_t first,
                         std::uint32_t stride, const ResolvedStep& step) const;
  Load load_of(const Program& program, const ResolvedStep& step);
  void complete(std::uint32_t number, const ResolvedStep& step, const Load& load, double begin,
                double end);
  void take(std::uint32_t lane, double at);
  void post(std::uint32_t lane, double at, std::uint64_t bytes);
  void arrive(std::uint32_t lane, double left_at);
  void on_flow_done(std::uint32_t flow);
  Result<void> check_all_done();
  std::string describe(const Strand& strand);
  void summarise();

  std::span<const RankProgram> ranks_;
  Lanes& lanes_;
  const Machine& machine_;
  const Message& message_;
  std::uint32_t world_;
  std::vector<Strand> strands_;
  std::vector<std::uint32_t> ready_;  // strands that may go on, each once
  Network network_;
  std::vector<std::uint32_t> flow_owners_;  // lanes, then strands from kFirstStrand on
  Recorder recorder_;
  Timeline timeline_;

  // Of the step that is looked at.
  std::vector<std::uint32_t> from_, to_;  // lanes
  double ready_at_ = 0;                   // when all it needs is there
};

}  // namespace gyre::sim
