// A second, independent judge of schedules for the tests: runs them on real numbers in a random
// order of events and compares with what the collective means. It shares the cursor with the
// verifier, and nothing else.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "collectives/spec.hpp"
#include "schedule/step.hpp"

namespace gyre::test {

// Whether ranks write results where peers have offered it.
enum class Placing : std::uint8_t { never, sometimes, always };

struct RehearsalOptions {
  std::uint64_t tiles = 1;
  std::uint32_t slots = 1;
  bool in_place = false;
  bool by_reference = true;
  Placing placing = Placing::always;  // with by_reference
  // A step takes all its slots and credits at once, or each as it comes.
  bool whole_steps = true;
  // Always run the first runnable rank of a random order, which drives ranks far apart; else pick
  // one at random each time.
  bool greedy = false;
  // Fold with an operation for which the order matters.
  bool order_matters = false;
  std::uint64_t seed = 1;
};

// What went wrong, or nothing.
std::string rehearse(const std::vector<Program>& programs, const Collective& collective,
                     const RehearsalOptions& options);

}  // namespace gyre::test
