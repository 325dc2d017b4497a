#include "tools/gyre/binding.hpp"

#include <sched.h>

#include <cstddef>

namespace gyre::tools {

std::vector<int> usable_cores() {
  std::vector<int> cores;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cores;
  for (int core = 0; core < CPU_SETSIZE; ++core) {
    if (CPU_ISSET(static_cast<std::size_t>(core), &allowed)) cores.push_back(core);
  }
  return cores;
}

int core_of(Binding binding, int rank, const std::vector<int>& cores) {
  if (binding == Binding::none || cores.empty()) return -1;
  return cores[static_cast<std::size_t>(rank) % cores.size()];
}

}  // namespace gyre::tools
