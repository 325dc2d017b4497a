// What each candidate would cost, and the choices that follow.
#pragma once

#include <cstdint>
#include <vector>

#include "plan/candidates.hpp"
#include "plan/cost_model.hpp"
#include "plan/tuning_table.hpp"

namespace gyre {

struct Priced {
  Candidate candidate;
  double seconds = 0;
  bool measured = false;  // the model's time, corrected by measured ones
};

class Pricing {
 public:
  // `table` may be empty. Both outlive this.
  Pricing(const PlanFacts& facts, const TuningTable& table, const HostCosts& costs = usual_costs());

  // The candidates for a call of that many bytes (message_bytes), the fastest first; of equals the
  // catalogue's first. Where some were measured on such a communicator, only those count.
  std::vector<Priced> price(CallKind kind, bool fixed_order, std::uint64_t bytes);

  // The same of one candidate.
  Priced price(const Candidate& candidate, CallKind kind, std::uint64_t bytes);

  // The fastest ones, in short slices only where that is well worth it, or those that GYRE_ALGO
  // asks for, with their times.
  Choices choose();
  // That of one class of sizes.
  Decision choose(CallKind kind, bool fixed_order, int size_class);

 private:
  // What a measurement makes of the model's time.
  struct Correction {
    double bytes, factor;
  };
  struct Line {
    Candidate candidate;
    std::vector<Correction> corrections;  // by rising bytes; none: not measured
  };

  Line line_of(CallKind kind, const Candidate& candidate);
  std::vector<Line> lines_of(CallKind kind, bool fixed_order);
  double seconds_on(const Line& line, std::uint64_t bytes);
  Priced price(const Line& line, std::uint64_t bytes);
  std::vector<Priced> price(const std::vector<Line>& lines, std::uint64_t bytes);
  static const Priced& best_of(const std::vector<Priced>& prices);
  Decision decide(const std::vector<Line>& lines, CallKind kind, bool fixed_order,
                  std::uint64_t bytes);
  static double factor_at(const std::vector<Correction>& corrections, double bytes);

  const PlanFacts& facts_;
  const TuningTable& table_;
  CostModel model_;
};

}  // namespace gyre
