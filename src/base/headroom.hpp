// How much memory is left to this process.
#pragma once

#include <cstdint>
#include <filesystem>

namespace gyre {

// Bytes until the machine, or a control group (version 1 or 2) that this process belongs to, is out
// of memory; 0 if that is not known. Reads some files of the kernel below `root`.
std::uint64_t memory_headroom(const std::filesystem::path& root = "/");

}  // namespace gyre
