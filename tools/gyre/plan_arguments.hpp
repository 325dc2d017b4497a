// The command line of `gyre plan`.
#pragma once

#include <CLI/CLI.hpp>

#include "tools/gyre/plan_command.hpp"

namespace gyre::tools {

// Adds the subcommand, which fills in `options`; that must outlive the application.
CLI::App* add_plan(CLI::App& app, PlanOptions& options);

}  // namespace gyre::tools
