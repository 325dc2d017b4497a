#include "base/headroom.hpp"

#include <algorithm>
#include <fstream>
#include <optional>
#include <string>

namespace gyre {
namespace {

namespace fs = std::filesystem;

// One version's files.
struct GroupFiles {
  const char* mount;
  const char* limit;
  const char* usage;
};
constexpr GroupFiles kFirst{"sys/fs/cgroup/memory", "memory.limit_in_bytes",
                            "memory.usage_in_bytes"};
constexpr GroupFiles kSecond{"sys/fs/cgroup", "memory.max", "memory.current"};

// None where there is no such file, or no number in it ("max").
std::optional<std::uint64_t> number_in(const fs::path& file) {
  std::ifstream stream(file);
  std::uint64_t number = 0;
  if (stream >> number) return number;
  return std::nullopt;
}

std::uint64_t available(const fs::path& root) {
  std::ifstream stream(root / "proc/meminfo");
  for (std::string line; std::getline(stream, line);) {
    if (!line.starts_with("MemAvailable:")) continue;
    return std::stoull(line.substr(line.find(':') + 1)) << 10;
  }
  return 0;
}

// The least that the group and those that it lies in leave. A container sees its own group as the
// root, whatever the path says: the root is looked at too.
std::uint64_t left_in_group(const fs::path& root, const GroupFiles& files, const fs::path& group) {
  std::uint64_t least = ~std::uint64_t{0};
  for (fs::path at = group.relative_path();; at = at.parent_path()) {
    const fs::path folder = root / files.mount / at;
    const auto limit = number_in(folder / files.limit);
    const auto usage = number_in(folder / files.usage);
    if (limit && usage) least = std::min(least, *limit - std::min(*limit, *usage));
    if (at.empty()) return least;
  }
}

bool lists_memory(const std::string& controllers) {
  return ("," + controllers + ",").find(",memory,") != std::string::npos;
}

}  // namespace

std::uint64_t memory_headroom(const fs::path& root) {
  std::uint64_t least = available(root);
  std::ifstream groups(root / "proc/self/cgroup");
  // "4:memory:/a/b" of version 1, "0::/a/b" of version 2
  for (std::string line; std::getline(groups, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    if (!controllers.empty() && !lists_memory(controllers)) continue;
    const GroupFiles& files = controllers.empty() ? kSecond : kFirst;
    least = std::min(least, left_in_group(root, files, line.substr(second + 1)));
  }
  return least;
}

}  // namespace gyre
