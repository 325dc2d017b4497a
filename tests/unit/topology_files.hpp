// Topology files of real machines, read where they lie.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <vector>

namespace gyre::topo {

// The XML files of a folder by name; none if the folder is not there.
inline std::vector<std::filesystem::path> topology_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    if (entry.path().extension() == ".xml") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

// Why a test that needs them is skipped; empty if they are there.
inline std::string no_topology_files(const std::filesystem::path& folder) {
  if (!topology_files(folder / "nccl").empty()) return {};
  return "no topology files of real machines at " + folder.string() +
         "; cmake -DGYRE_TOPOLOGIES=FOLDER names another place";
}

}  // namespace gyre::topo
