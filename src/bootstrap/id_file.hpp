// An id left in a shared folder: written whole or not at all, readable by its owner alone.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"
#include "bootstrap/unique_id.hpp"

namespace gyre {

// The file of a job in a folder; jobs of different names do not share one.
std::string id_file_path(std::string_view folder, std::string_view job);

// Replaces whatever an earlier run left.
Result<void> write_id_file(const std::string& path, const UniqueId& id);
// `busy` if there is no file, or none that holds an id (a foreign or damaged one).
Result<UniqueId> read_id_file(const std::string& path);
// Removes the file if it still holds `id`.
void remove_id_file(const std::string& path, const UniqueId& id);

}  // namespace gyre
