#include "base/environment.hpp"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

extern char** environ;

namespace gyre {
namespace {

using Values = std::vector<std::pair<std::string, std::string>>;

constexpr std::size_t kMaxFileBytes = 1 << 20;

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text(kMaxFileBytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return text;
}

void append_file(Values& values, const std::string& path) {
  if (const auto text = read_file(path)) {
    Values more = parse_configuration(*text);
    std::move(more.begin(), more.end(), std::back_inserter(values));
  }
}

// The files do not change while a process runs, as far as it is concerned.
const Values& configuration_files() {
  static const Values* values = [] {
    auto* read = new Values;
    const char* named = std::getenv("NCCL_CONF_FILE");
    const char* home = std::getenv("HOME");
    if (named != nullptr && *named != '\0') {
      append_file(*read, named);
    } else if (home != nullptr) {
      append_file(*read, std::string(home) + "/.nccl.conf");
    }
    append_file(*read, "/etc/nccl.conf");
    return read;
  }();
  return *values;
}

}  // namespace

Values parse_configuration(std::string_view text) {
  Values values;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::size_t equals = line.find('=');
    if (line.starts_with('#') || equals == std::string_view::npos || equals == 0) continue;
    values.emplace_back(line.substr(0, equals), line.substr(equals + 1));
  }
  return values;
}

Values read_environment() {
  Values values;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view line(*entry);
    const std::size_t equals = line.find('=');
    if (equals != std::string_view::npos && equals != 0) {
      values.emplace_back(line.substr(0, equals), line.substr(equals + 1));
    }
  }
  const Values& files = configuration_files();
  values.insert(values.end(), files.begin(), files.end());
  return values;
}

std::optional<std::string> environment_value(std::string_view name) {
  if (const char* value = std::getenv(std::string(name).c_str())) return std::string(value);
  for (const auto& [key, value] : configuration_files()) {
    if (key == name) return value;
  }
  return std::nullopt;
}

}  // namespace gyre
