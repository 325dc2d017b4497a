// Which core a rank runs on.
#pragma once

#include <vector>

namespace gyre::tools {

enum class Binding { none, core };

// Cores that this process may run on, in order.
std::vector<int> usable_cores();

// Ranks take the cores in turn. -1 for no core in particular.
int core_of(Binding binding, int rank, const std::vector<int>& cores);

}  // namespace gyre::tools
