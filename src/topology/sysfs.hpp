// Reading the kernel's small files. What is not there or not readable has no value: containers hide
// any part of it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace gyre::topo {

// A file's text without its final newline; at most some kilobytes.
std::optional<std::string> read_text(const std::filesystem::path& file);
std::optional<std::int64_t> read_integer(const std::filesystem::path& file);
// The names in a folder, in order; none if there is no such folder.
std::vector<std::string> names_in(const std::filesystem::path& folder);
bool is_there(const std::filesystem::path& path);
// The PCI place of a device: the last one on the path that a link leads to. Empty if there is none.
std::string pci_place_of(const std::filesystem::path& link);

}  // namespace gyre::topo
