// Deriving communicators from a parent.
#pragma once

#include <memory>
#include <optional>

#include "base/status.hpp"
#include "comm/communicator.hpp"

namespace gyre {

// What one rank of a split is part of.
struct SplitPlan {
  std::vector<int> members;  // parent ranks by new rank; empty: this rank joins none
  int rank = -1;             // own new rank
  JobKey key;
};

// Collective over the parent's ranks: colors and keys are exchanged; ranks of one color (>= 0) are
// ordered by (key, parent rank). Color -1 joins no communicator.
Result<SplitPlan> plan_split(Communicator& parent, int color, int key);

}  // namespace gyre
