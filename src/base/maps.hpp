// /proc/self/maps: which file lies behind a range of memory. Pure functions over its text.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace gyre {

// One mapping. Its name is as the kernel prints it: "\012" for a newline, " (deleted)" behind the
// name of a file that has none any more.
struct MapsLine {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  bool readable = false;
  bool writable = false;
  bool shared = false;
  std::uint64_t offset = 0;  // of `begin` in the file
  std::uint32_t major = 0, minor = 0;
  std::uint64_t inode = 0;  // 0: no file
  std::string_view name;
};

// Without the newline. No value for anything but a whole line of a mapping that can be: its numbers
// do not wrap around.
std::optional<MapsLine> parse_maps_line(std::string_view line);

// The mapping that holds the first of `bytes` at `begin`, if all of them lie in shared memory of
// one file that can be read and written. The kernel may list it as several mappings, one after the
// other in memory and in the file. The name refers to `maps`.
std::optional<MapsLine> find_shared_file(std::string_view maps, std::uint64_t begin,
                                         std::uint64_t bytes);

}  // namespace gyre
