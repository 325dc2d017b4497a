// A folder through which the ranks of one machine find each other; the unique id is its path.
#pragma once

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>

#include "nccl.h"

namespace gyre::peers {

inline void make_folder(ncclUniqueId& id) {
  std::string path = (std::filesystem::temp_directory_path() / "gyre-peer-XXXXXX").string();
  if (path.size() >= sizeof id.internal || mkdtemp(path.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder like " + path);
  }
  std::memcpy(id.internal, path.c_str(), path.size() + 1);
}

inline std::string folder_of(const ncclUniqueId& id) { return id.internal; }

// By one rank, when all have found each other.
inline void remove_folder(const ncclUniqueId& id) {
  std::error_code ignored;
  std::filesystem::remove_all(folder_of(id), ignored);
}

}  // namespace gyre::peers
