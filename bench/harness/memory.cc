#include "bench/harness/memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <sstream>
#include <string_view>

namespace gyre::bench {
namespace {

constexpr double kGiB = 1024.0 * 1024.0 * 1024.0;

// The number in the only word of a file; `fallback` for "max" or no such file.
std::int64_t read_number(const std::string& path, std::int64_t fallback) {
  std::ifstream file(path);
  std::int64_t value = 0;
  return file >> value ? value : fallback;
}

// The number after `name` at the beginning of a line; `fallback` if there is none.
std::int64_t read_entry(const std::string& path, std::string_view name, std::int64_t fallback) {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    std::string word;
    std::int64_t value = 0;
    if (words >> word >> value && word == name) return value;
  }
  return fallback;
}

constexpr std::int64_t kUnlimited = std::numeric_limits<std::int64_t>::max();

std::int64_t available_of_machine(const std::string& meminfo) {
  const std::int64_t kib = read_entry(meminfo, "MemAvailable:", kUnlimited);
  return kib == kUnlimited ? kUnlimited : kib * 1024;
}

std::int64_t available_of_cgroup(const std::string& folder) {
  const std::int64_t limit = read_number(folder + "/memory.max", kUnlimited);
  if (limit == kUnlimited) return kUnlimited;
  // The group is charged for files that somebody read, until others need the memory.
  const std::int64_t files = read_entry(folder + "/memory.stat", "inactive_file", 0);
  const std::int64_t used = read_number(folder + "/memory.current", 0) - files;
  return std::clamp<std::int64_t>(limit - used, 0, limit);
}

// Of one GPU: a sixteenth, at most 4 GiB, is left for the libraries, and 1 GiB for the rest.
double usable_on_gpu(std::uint64_t total) {
  const double bytes = static_cast<double>(total);
  return bytes - std::min(std::ceil(bytes / (16 * kGiB)) * kGiB, 4 * kGiB) - kGiB;
}

double limit_here(const Layout& layout, const std::vector<gyreDeviceInfo>& infos, bool check) {
  const double copies = check ? 3 : 2;
  double limit = std::numeric_limits<double>::max();
  for (const gyreDeviceInfo& info : infos) {
    if (info.kind == gyreDeviceHost) {
      // A fifth is left for lanes, the rest of the program and others.
      const double ranks = static_cast<double>(layout.ranks_here()) * layout.local_processes;
      limit = std::min(limit, static_cast<double>(available_bytes()) * 0.8 / ranks / copies);
    } else if (info.memory_bytes > 0) {
      const auto sharers = std::count_if(infos.begin(), infos.end(), [&](const auto& other) {
        return other.ordinal == info.ordinal;
      });
      limit =
          std::min(limit, usable_on_gpu(info.memory_bytes) / copies / static_cast<double>(sharers));
    }
  }
  return std::max(limit, 4096.0);
}

std::string amount_text(std::int64_t bytes) {
  double amount = static_cast<double>(bytes);
  const char* unit = "B";
  for (const char* larger : {"KB", "MB", "GB"}) {
    if (std::fabs(amount) < 1024) break;
    amount /= 1024;
    unit = larger;
  }
  const int decimals = std::fabs(amount) < 10 ? 2 : std::fabs(amount) < 100 ? 1 : 0;
  return fmt::format("{:.{}f} {}", amount, decimals, unit);
}

}  // namespace

std::int64_t available_bytes(const MemoryFiles& files) {
  return std::min(available_of_machine(files.meminfo), available_of_cgroup(files.cgroup));
}

std::int64_t own_bytes() {
  std::ifstream file("/proc/self/smaps_rollup");
  std::int64_t sum = 0;
  for (std::string name; file >> name;) {
    std::int64_t kib = 0;
    if ((name == "Pss_Anon:" || name == "Pss_Shmem:") && file >> kib) sum += kib * 1024;
  }
  return sum;
}

std::size_t buffer_limit(ProcessGroup& group, const Layout& layout,
                         const std::vector<gyreDeviceInfo>& infos, bool check) {
  const auto limits = all_gather_values(group, limit_here(layout, infos, check));
  const double least = std::min(*std::min_element(limits.begin(), limits.end()), 9.2e18);
  return static_cast<std::size_t>(least) / 4096 * 4096;
}

std::string memory_text(const MemoryUse& use, bool host) {
  if (!host) return "# GPU memory usage     : not known to gyre/device.h\n";
  return fmt::format(
      "# {:<20} : Initialization {} | User-Allocated {} | Collective {} | Total  {}\n",
      "Host memory usage", amount_text(use.initialization), amount_text(use.buffers),
      amount_text(use.collective), amount_text(use.initialization + use.buffers + use.collective));
}

}  // namespace gyre::bench
