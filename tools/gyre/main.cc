// The `gyre` command.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/gyre/add_value.hpp"
#include "tools/gyre/launcher.hpp"
#include "tools/gyre/plan_arguments.hpp"
#include "tools/gyre/plan_command.hpp"
#include "tools/gyre/plot_command.hpp"
#include "tools/gyre/run_options.hpp"
#include "tools/gyre/settings_command.hpp"
#include "tools/gyre/simulate_arguments.hpp"
#include "tools/gyre/simulate_command.hpp"
#include "tools/gyre/topo_command.hpp"
#include "tools/gyre/tune_arguments.hpp"
#include "tools/gyre/tune_command.hpp"
#include "topology/synthetic.hpp"

namespace gyre::tools {
namespace {

constexpr int kUsageError = 2;
constexpr int kCannotStart = 127;

milliseconds to_milliseconds(double seconds) {
  return milliseconds(static_cast<milliseconds::rep>(seconds * 1000));
}

// The exit status of a command that failed, which says why.
int failed(const Error& error) {
  fmt::print(stderr, "{}\n", error.text);
  return error.status == Status::invalid_argument ? kUsageError : 1;
}

int finish(const Result<void>& done) { return done ? 0 : failed(done.error()); }

int show(const Result<std::string>& text) {
  if (!text) return failed(text.error());
  fmt::print("{}", *text);
  return 0;
}

// Also says whether the variables of this environment are good.
int print_settings(bool markdown) {
  const auto rows = setting_table();
  fmt::print("{}", markdown ? settings_markdown(rows) : settings_text(rows));
  const auto checked = parse_settings();
  if (checked) return 0;
  fmt::print(stderr, "gyre settings: {}\n", checked.error().text);
  return 1;
}

// Where nothing is said of it, a NIC carries what one pair of ranks can.
int simulate(SimulateOptions options) {
  if (options.hosts.nic_bytes_per_second == 0) {
    options.hosts.nic_bytes_per_second = 1 / options.hosts.other_host.seconds_per_byte;
  }
  return finish(simulate_command(options));
}

int show_topology(const TopoOptions& options) {
  const auto text = topo_command(options);
  if (text) return show(text);
  fmt::print(stderr, "gyre topo: {}\n", text.error().text);
  return 1;
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
  run->add_option("-n,--ranks", options.ranks, "Number of ranks")
      ->take_last()
      ->check(CLI::Range(1, 4096));
  run->add_option("-e,--env", options.environment, "NAME=value for every rank; may be repeated")
      ->allow_extra_args(false)
      ->check([](const std::string& variable) {
        const bool good = variable.find('=') != std::string::npos && variable.front() != '=';
        return good ? std::string() : fmt::format("'{}' is not NAME=value", variable);
      });
  run->add_option(
         "--bind-to", options.binding,
         "core: each rank runs on one CPU only, those of other cores first; none (default)")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, Binding>{{"none", Binding::none}, {"core", Binding::core}}));
  run->add_flag("-l,--tag-output", options.tag_output, "Put \"[rank] \" before every line");
  run->add_flag("--keep-going", options.keep_going, "Let the others run on when a rank fails");
  run->add_option_function<double>(
         "--timeout", [&options](double seconds) { options.timeout = to_milliseconds(seconds); },
         "End the job after this many seconds")
      ->check(CLI::Range(0.001, 1e9))
      ->check(refuse_nan);
  run->add_option_function<double>(
         "--grace", [&options](double seconds) { options.grace = to_milliseconds(seconds); },
         "Seconds between SIGTERM and SIGKILL (5)")
      ->check(CLI::Range(0.0, 1e9))
      ->check(refuse_nan);
  run->prefix_command();
  return run;
}

CLI::App* add_topo(CLI::App& app, TopoOptions& options) {
  auto* topo = app.add_subcommand("topo", "Show this machine, its paths, rings and trees");
  std::string models =
      "Synthetic machines: [Nx]MODEL[+...][:rail|:fat-tree], such as 32xdgx-h100\n";
  for (const topo::SyntheticModel& model : topo::synthetic_models()) {
    models += fmt::format("  {:<10}{}\n", model.name, model.what);
  }
  topo->footer(models);
  auto* file = topo->add_option("--file", options.file,
                                "A topology file instead: NCCL_TOPO_FILE's XML or hwloc's");
  topo->add_option("--synthetic", options.synthetic, "A made-up machine instead; see below")
      ->excludes(file);
  topo->add_flag("--json", options.json, "For programs");
  topo->add_option("--svg", options.svg, "Also draw it to this file");
  topo->add_option("--dump", options.dump, "Also write it to this file, as NCCL_TOPO_FILE's XML");
  return topo;
}

// CLI11 reads options after a "--" too, so what follows it is kept from CLI11.
struct Arguments {
  std::vector<char*> ours;
  std::vector<std::string> theirs;  // "--" first, if there was one
};

Arguments split(int argc, char** argv) {
  const auto end = argv + argc;
  const auto dashes = std::find(argv, end, std::string_view("--"));
  return {{argv, dashes}, {dashes, end}};
}

// The program to run: what CLI11 left over and what it was not shown.
std::vector<std::string> command_of(std::vector<std::string> left, std::vector<std::string> kept) {
  // The first "--" ends our options; any later one is the program's.
  if (left.empty() && !kept.empty()) kept.erase(kept.begin());
  left.insert(left.end(), kept.begin(), kept.end());
  return left;
}

int execute(int argc, char** argv) {
  auto arguments = split(argc, argv);
  CLI::App app{"Gyre: collective communication for any rank", "gyre"};
  app.require_subcommand(1);
  RunOptions options;
  const auto* run = add_run(app, options);
  const auto* version = app.add_subcommand("version", "Print the version");
  bool markdown = false;
  auto* list = app.add_subcommand("settings", "List the environment variables that Gyre reads");
  list->add_flag("--markdown", markdown, "As the documentation page");
  auto* chart = app.add_subcommand("plot", "Draw what bench/compare_host measured, as SVG");
  std::string from;
  std::string to = "-";
  chart->add_option("file", from, "What compare_host --json wrote")->required();
  chart->add_option("-o,--output", to, "The SVG file (standard output)");
  SimulateOptions simulation;
  const auto* simulated = add_simulate(app, simulation);
  PlanOptions plan_options;
  const auto* plan = add_plan(app, plan_options);
  TuneOptions tune_options;
  const auto* tuned = add_tune(app, tune_options);
  TopoOptions topo_options;
  const auto* topo = add_topo(app, topo_options);
  try {
    app.parse(static_cast<int>(arguments.ours.size()), arguments.ours.data());
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kUsageError;
  }
  if (version->parsed()) {
    fmt::print("gyre {}\n", GYRE_VERSION);
    return 0;
  }
  if (chart->parsed()) return finish(plot_file(from, to));
  if (simulated->parsed()) return simulate(std::move(simulation));
  if (plan->parsed()) return show(plan_command(plan_options));
  if (tuned->parsed()) return finish(tune_command(tune_options));
  if (topo->parsed()) return show_topology(topo_options);
  if (list->parsed()) return print_settings(markdown);
  const auto left = run->remaining();
  if (!left.empty() && left.front().starts_with('-')) {
    fmt::print(stderr, "gyre run: unknown option {}. See gyre run --help\n", left.front());
    return kUsageError;
  }
  options.command = command_of(left, std::move(arguments.theirs));
  if (options.command.empty()) {
    fmt::print(stderr, "gyre run: which program? See gyre run --help\n");
    return kUsageError;
  }
  return start_job(options);
}

}  // namespace
}  // namespace gyre::tools

int main(int argc, char** argv) { return gyre::tools::execute(argc, argv); }
