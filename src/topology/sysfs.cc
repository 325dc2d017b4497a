#include "topology/sysfs.hpp"

#include <algorithm>
#include <fstream>
#include <system_error>

#include "base/parse_value.hpp"
#include "topology/pci_address.hpp"

namespace gyre::topo {

std::optional<std::string> read_text(const std::filesystem::path& file) {
  constexpr std::size_t kMost = 16 << 10;
  std::ifstream in(file, std::ios::binary);
  std::string text(kMost, '\0');
  // Some attributes fail when read: the speed of an interface that is down.
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (in.bad() || in.gcount() <= 0) return std::nullopt;
  text.resize(static_cast<std::size_t>(in.gcount()));
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

std::optional<std::int64_t> read_integer(const std::filesystem::path& file) {
  const auto text = read_text(file);
  return text ? parse_integer(*text) : std::nullopt;
}

std::vector<std::string> names_in(const std::filesystem::path& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (auto at = std::filesystem::directory_iterator(folder, error);
       !error && at != std::filesystem::directory_iterator(); at.increment(error)) {
    names.push_back(at->path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

bool is_there(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::exists(path, error);
}

std::string pci_place_of(const std::filesystem::path& link) {
  std::error_code error;
  const auto target = std::filesystem::weakly_canonical(link, error);
  std::string place;
  for (const auto& part : error ? link : target) {
    if (auto address = pci_address(part.string()); !address.empty()) place = std::move(address);
  }
  return place;
}

}  // namespace gyre::topo
