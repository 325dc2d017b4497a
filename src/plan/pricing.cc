#include "plan/pricing.hpp"

#include <algorithm>
#include <cmath>

namespace gyre {
namespace {

// Shorter slices must be predicted to save this much: the model knows little of what they cost.
constexpr double kWorthShortSlices = 0.8;

TuningPlace place_of(const PlanFacts& facts) {
  return {static_cast<std::uint32_t>(facts.world), static_cast<std::uint32_t>(facts.ranks_per_host),
          facts.machine.memory_within_hosts};
}

}  // namespace

Pricing::Pricing(const PlanFacts& facts, const TuningTable& table, const HostCosts& costs)
    : facts_(facts),
      table_(table),
      model_(facts.machine, static_cast<std::uint32_t>(facts.ranks_per_host), facts.slots, costs) {}

// Factors between measured sizes lie on lines over the logarithm of the size; beyond, the nearest
// one holds.
double Pricing::factor_at(const std::vector<Correction>& corrections, double bytes) {
  if (corrections.empty()) return 1;
  const auto above = std::find_if(corrections.begin(), corrections.end(),
                                  [&](const Correction& one) { return one.bytes >= bytes; });
  if (above == corrections.begin()) return above->factor;
  if (above == corrections.end()) return corrections.back().factor;
  const Correction& below = *(above - 1);
  const double part = std::log(bytes / below.bytes) / std::log(above->bytes / below.bytes);
  return below.factor * std::pow(above->factor / below.factor, part);
}

Pricing::Line Pricing::line_of(CallKind kind, const Candidate& candidate) {
  Line line{candidate, {}};
  std::vector<TuningRow> rows = table_.of(kind, place_of(facts_));
  std::erase_if(rows, [&](const TuningRow& row) { return row.choice != candidate.choice; });
  std::stable_sort(rows.begin(), rows.end(), [](const TuningRow& one, const TuningRow& other) {
    return one.bytes < other.bytes;
  });
  const std::uint64_t slice = slice_of(candidate.choice, facts_);
  for (const TuningRow& row : rows) {
    const double model = model_.seconds(*candidate.schedule, slice, row.bytes);
    const Correction one{static_cast<double>(row.bytes), row.seconds / model};
    if (!line.corrections.empty() && line.corrections.back().bytes == one.bytes) {
      line.corrections.pop_back();
    }
    line.corrections.push_back(one);
  }
  return line;
}

std::vector<Pricing::Line> Pricing::lines_of(CallKind kind, bool fixed_order) {
  std::vector<Line> lines;
  for (const Candidate& candidate : candidates_for(kind, fixed_order, facts_)) {
    lines.push_back(line_of(kind, candidate));
  }
  const bool any_measured = std::any_of(lines.begin(), lines.end(),
                                        [](const Line& line) { return !line.corrections.empty(); });
  std::erase_if(lines, [&](const Line& line) { return any_measured && line.corrections.empty(); });
  return lines;
}

double Pricing::seconds_on(const Line& line, std::uint64_t bytes) {
  const std::uint64_t size = std::max<std::uint64_t>(bytes, 1);
  return model_.seconds(*line.candidate.schedule, slice_of(line.candidate.choice, facts_), size) *
         factor_at(line.corrections, static_cast<double>(size));
}

Priced Pricing::price(const Line& line, std::uint64_t bytes) {
  return {line.candidate, seconds_on(line, bytes), !line.corrections.empty()};
}

Priced Pricing::price(const Candidate& candidate, CallKind kind, std::uint64_t bytes) {
  return price(line_of(kind, candidate), bytes);
}

std::vector<Priced> Pricing::price(const std::vector<Line>& lines, std::uint64_t bytes) {
  std::vector<Priced> all;
  for (const Line& line : lines) {
    if (allows_size(line.candidate, bytes, facts_)) all.push_back(price(line, bytes));
  }
  std::stable_sort(all.begin(), all.end(), [](const Priced& one, const Priced& other) {
    return one.seconds < other.seconds;
  });
  return all;
}

std::vector<Priced> Pricing::price(CallKind kind, bool fixed_order, std::uint64_t bytes) {
  return price(lines_of(kind, fixed_order), bytes);
}

// The fastest of them, in slices as long as can be unless shorter ones are well worth it.
const Priced& Pricing::best_of(const std::vector<Priced>& prices) {
  const Priced& best = prices.front();
  for (const Priced& one : prices) {
    const bool longer =
        one.candidate.schedule == best.candidate.schedule && one.candidate.choice.slice_bytes == 0;
    if (longer && !best.measured && best.seconds > kWorthShortSlices * one.seconds) return one;
  }
  return best;
}

// What the user chose, if it does; else the best.
Decision Pricing::decide(const std::vector<Line>& lines, CallKind kind, bool fixed_order,
                         std::uint64_t bytes) {
  const Forced& forced = facts_.forced[index_of(kind)];
  const bool obeyed = forced.schedule != nullptr && (!fixed_order || forced.schedule->fixed_order);
  Priced taken{{{forced.algorithm, forced.slice_bytes}, forced.schedule}, 0, false};
  if (obeyed) {
    taken = price(taken.candidate, kind, bytes);
  } else {
    const auto prices = price(lines, bytes);
    // Only one-shot was measured, and this is too large for it.
    if (prices.empty()) return Choices().at(kind, fixed_order, 0);
    taken = best_of(prices);
  }
  return {taken.candidate.choice, static_cast<float>(taken.seconds)};
}

Decision Pricing::choose(CallKind kind, bool fixed_order, int size_class) {
  return decide(lines_of(kind, fixed_order), kind, fixed_order, largest_of_class(size_class));
}

Choices Pricing::choose() {
  Choices choices;
  for (const CallKind kind : kPlannedKinds) {
    for (const bool fixed_order : {false, true}) {
      const bool alike = fixed_order && !reduces(kind);
      const std::vector<Line> lines = alike ? std::vector<Line>() : lines_of(kind, fixed_order);
      for (int size = 0; size < kSizeClasses; ++size) {
        choices.at(kind, fixed_order, size) =
            alike ? choices.at(kind, false, size)
                  : decide(lines, kind, fixed_order, largest_of_class(size));
      }
    }
  }
  return choices;
}

}  // namespace gyre
