// How much memory there is for buffers, and how much is used.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "bench/harness/layout.hpp"

namespace gyre::bench {

// The largest buffer that every rank of the run can have (send, receive and, if `check`, expected
// data), leaving room for the rest. Collective over the processes.
std::size_t buffer_limit(ProcessGroup& group, const Layout& layout,
                         const std::vector<gyreDeviceInfo>& infos, bool check);

// Bytes of memory that this process takes: its own, and its share of what it shares with others, so
// that the sum over processes is what the machine gives. 0 if unknown.
std::int64_t own_bytes();

// Where the kernel says so.
struct MemoryFiles {
  std::string meminfo = "/proc/meminfo";
  std::string cgroup = "/sys/fs/cgroup";  // the folder of the control group
};

// Bytes that this process may still take: free memory of the machine or of its control group.
std::int64_t available_bytes(const MemoryFiles& files = {});

struct MemoryUse {
  std::int64_t initialization = 0;  // communicators
  std::int64_t buffers = 0;         // the program's own
  std::int64_t collective = 0;      // grown while measuring
};
std::string memory_text(const MemoryUse& use, bool host);

}  // namespace gyre::bench
