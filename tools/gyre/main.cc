// The `gyre` command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string>

#include "tools/gyre/launcher.hpp"
#include "tools/gyre/run_options.hpp"

namespace gyre::tools {
namespace {

constexpr int kUsageError = 2;
constexpr int kCannotStart = 127;

milliseconds to_milliseconds(double seconds) {
  return milliseconds(static_cast<milliseconds::rep>(seconds * 1000));
}

int start_job(const RunOptions& options) {
  const auto status = Launcher(options).run();
  if (status) return *status;
  fmt::print(stderr, "{}\n", status.error().text);
  return kCannotStart;
}

CLI::App* add_run(CLI::App& app, RunOptions& options) {
  auto* run = app.add_subcommand("run", "Start N ranks here: gyre run -n N program [arguments]");
  run->footer(
      "Each rank gets RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT\n"
      "as torchrun sets them, and GYRE_JOB_ID. Standard input goes to rank 0. When a rank fails "
      "the\n"
      "others are ended, and the exit status is that rank's (128 + signal if one ended it; 124 "
      "for\n"
      "--timeout).");
  run->add_option("-n,--ranks", options.ranks, "Number of ranks")->check(CLI::Range(1, 4096));
  run->add_option("-e,--env", options.environment, "NAME=value for every rank; may be repeated")
      ->expected(1)
      ->multi_option_policy(CLI::MultiOptionPolicy::TakeAll)
      ->check([](const std::string& variable) {
        const bool good = variable.find('=') != std::string::npos && variable.front() != '=';
        return good ? std::string() : fmt::format("'{}' is not NAME=value", variable);
      });
  run->add_flag("-l,--tag-output", options.tag_output, "Put \"[rank] \" before every line");
  run->add_flag("--keep-going", options.keep_going, "Let the others run on when a rank fails");
  run->add_option_function<double>(
         "--timeout", [&options](double seconds) { options.timeout = to_milliseconds(seconds); },
         "End the job after this many seconds")
      ->check(CLI::Range(0.001, 1e9));
  run->add_option_function<double>(
         "--grace", [&options](double seconds) { options.grace = to_milliseconds(seconds); },
         "Seconds between SIGTERM and SIGKILL (5)")
      ->check(CLI::Range(0.0, 1e9));
  run->prefix_command();
  return run;
}

int execute(int argc, char** argv) {
  CLI::App app{"Gyre: collective communication for any rank", "gyre"};
  app.require_subcommand(1);
  RunOptions options;
  const auto* run = add_run(app, options);
  const auto* version = app.add_subcommand("version", "Print the version");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  if (version->parsed()) {
    fmt::print("gyre {}\n", GYRE_VERSION);
    return 0;
  }
  options.command = run->remaining();
  if (!options.command.empty() && options.command.front() == "--") {
    options.command.erase(options.command.begin());
  }
  if (options.command.empty()) {
    fmt::print(stderr, "gyre run: which program? See gyre run --help\n");
    return kUsageError;
  }
  if (options.command.front().starts_with('-')) {
    fmt::print(stderr, "gyre run: unknown option {}. See gyre run --help\n",
               options.command.front());
    return kUsageError;
  }
  return start_job(options);
}

}  // namespace
}  // namespace gyre::tools

int main(int argc, char** argv) { return gyre::tools::execute(argc, argv); }
