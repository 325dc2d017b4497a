// `gyre plot`: the chart of a comparison that bench/compare_host wrote.
#pragma once

#include <string>
#include <string_view>

#include "base/status.hpp"

namespace gyre::tools {

// The SVG of a file's text, one panel for each collective, number of ranks and transport. An error
// says what of the file is not as compare_host writes it.
Result<std::string> plot_text(std::string_view json);

// Reads `from`, writes `to` ("-": standard output).
Result<void> plot_file(const std::string& from, const std::string& to);

}  // namespace gyre::tools
