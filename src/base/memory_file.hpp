// The file behind a range of this process's memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "base/fd.hpp"

namespace gyre {

struct MemoryFile {
  Fd file;                   // open for reading and writing
  std::uint64_t offset = 0;  // in the file, of the page in which the range begins
  std::uint64_t device = 0, inode = 0;
};

// For memory that lies in shared, writable mappings of one regular file (a memfd is one): a
// descriptor of that very file. None for other memory, or if no descriptor can be had: the file has
// no name any more, this process has none open, and it may not open /proc/self/map_files.
std::optional<MemoryFile> open_memory_file(const void* data, std::uint64_t bytes);

}  // namespace gyre
