#include "tools/gyre/binding.hpp"

#include <sched.h>

#include <algorithm>
#include <cstddef>
#include <fstream>
#include <map>
#include <utility>

namespace gyre::tools {
namespace {

// How many of `cpus` below `cpu` are hardware threads of the same core. The kernel lists those as
// "0,32" or "0-1".
std::ptrdiff_t threads_before(int cpu, const std::vector<int>& cpus, const std::string& root) {
  std::ifstream list(root + "/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
  std::ptrdiff_t before = 0;
  char separator = ',';
  for (int first = 0; list && separator == ',' && list >> first;) {
    int last = first;
    if (list >> separator && separator == '-') list >> last >> separator;
    before += std::count_if(cpus.begin(), cpus.end(), [&](int other) {
      return other < cpu && first <= other && other <= last;
    });
  }
  return before;
}

}  // namespace

std::vector<int> usable_cores() {
  std::vector<int> cpus;
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof allowed, &allowed) != 0) return cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(static_cast<std::size_t>(cpu), &allowed)) cpus.push_back(cpu);
  }
  return cores_first(std::move(cpus));
}

std::vector<int> cores_first(std::vector<int> cpus, const std::string& root) {
  std::map<std::ptrdiff_t, std::vector<int>> rounds;  // by what each is in its core: first, second
  for (const int cpu : cpus) rounds[threads_before(cpu, cpus, root)].push_back(cpu);
  auto to = cpus.begin();
  for (const auto& [round, members] : rounds) to = std::copy(members.begin(), members.end(), to);
  return cpus;
}

int core_of(Binding binding, int rank, const std::vector<int>& cores) {
  if (binding == Binding::none || cores.empty()) return -1;
  return cores[static_cast<std::size_t>(rank) % cores.size()];
}

}  // namespace gyre::tools
