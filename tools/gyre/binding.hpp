// Which core a rank runs on.
#pragma once

#include <string>
#include <vector>

namespace gyre::tools {

enum class Binding { none, core };

// CPUs that this process may run on: one of each core, then what other hardware threads the cores
// have.
std::vector<int> usable_cores();

// `cpus` (ascending) in that order, by what sysfs says under `root`.
std::vector<int> cores_first(std::vector<int> cpus,
                             const std::string& root = "/sys/devices/system/cpu");

// Ranks take the cores in turn. -1 for no core in particular.
int core_of(Binding binding, int rank, const std::vector<int>& cores);

}  // namespace gyre::tools
