// `gyre settings`: what can be set, from the table that the library itself reads.
#pragma once

#include <span>
#include <string>

#include "base/settings.hpp"

namespace gyre::tools {

// For a terminal: a paragraph per setting.
std::string settings_text(std::span<const SettingRow> rows);

// The documentation page.
std::string settings_markdown(std::span<const SettingRow> rows);

}  // namespace gyre::tools
