// Files that users name.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>

#include "base/status.hpp"

namespace gyre {

// The whole of a regular file of at most `most` bytes. What is no file (a FIFO, say, that nobody
// writes) is refused instead of waited for. Errors name the file.
Result<std::string> read_regular_file(const std::filesystem::path& path, std::size_t most);

}  // namespace gyre
