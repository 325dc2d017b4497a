// The command line of `gyre tune`.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/gyre/tune_command.hpp"

namespace gyre::tools {

// Adds the subcommand, which fills in `options`; that must outlive the application.
CLI::App* add_tune(CLI::App& app, TuneOptions& options);

}  // namespace gyre::tools
