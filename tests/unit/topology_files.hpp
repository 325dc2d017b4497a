// Topology files of real machines, read where they lie.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "topology/discover.hpp"

namespace gyre {

inline const std::filesystem::path& topology_folder() {
  static const std::filesystem::path folder = GYRE_TOPOLOGIES;
  return folder;
}

// The XML files of a subfolder by name; none if the folder is not there.
inline std::vector<std::filesystem::path> topology_files(const std::string& subfolder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry :
       std::filesystem::directory_iterator(topology_folder() / subfolder, error)) {
    if (entry.path().extension() == ".xml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Why a test that needs them is skipped; empty if they are there.
inline std::string no_topology_files() {
  if (!topology_files("nccl").empty()) return {};
  return "no topology files of real machines at " + topology_folder().string() +
         "; cmake -DGYRE_TOPOLOGIES=FOLDER names another place";
}

}  // namespace gyre
