// The command line of `gyre simulate`.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/gyre/simulate_command.hpp"

namespace gyre::tools {

// Adds the subcommand, which fills in `options`; that must outlive the application.
CLI::App* add_simulate(CLI::App& app, SimulateOptions& options);

}  // namespace gyre::tools
